internal import KistCore

extension Keyring {
  func load(_ request: LoadRequest) async throws(StorageError) -> Credential {
    try await perform { deadline in
      try await asking(by: deadline) { service in
        if let credential = try await service.credential(of: request.key, by: deadline) {
          return credential
        }
        _ = try await service.openCollection(by: deadline)
        throw StorageError.notFound
      }
    }
  }

  func find(_ query: CredentialQuery) async throws(StorageError) -> CredentialPage {
    let summaries = try await perform { deadline in
      try await asking(by: deadline) { service in
        try await service.summaries(with: Item.attributes(of: query), by: deadline)
      }
    }
    return try query.page(of: summaries)
  }
}

extension SecretService {
  /// Returns the credentials with these attributes, with the newest of several items of a key.
  func summaries(
    with attributes: [String: String], by deadline: Deadline
  ) async throws -> [CredentialSummary] {
    let items = try await items(with: attributes, by: deadline)
    if items.isEmpty { _ = try await openCollection(by: deadline) }
    return Dictionary(items.map { ($0.summary.key, $0) }) { $0.isNewer(than: $1) ? $0 : $1 }
      .values.map(\.summary)
  }
}
