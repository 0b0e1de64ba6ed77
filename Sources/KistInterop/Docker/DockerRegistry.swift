internal import KistCore
internal import KistJSON

/// A registry, identified by docker's URL or host for it, unchanged.
struct DockerRegistry {
  let url: String

  init(url: String) { self.url = url }

  /// Reads the URL, which is the whole input except surrounding blanks.
  init(reading input: Secret) throws(StorageError) {
    guard let text = input.validText else { throw .badRequest("what was sent is not UTF-8") }
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
    let start = text.utf8.drop { blanks.contains($0) }
    let trimmed = start.reversed().drop { blanks.contains($0) }.reversed()
    url = String(decoding: trimmed, as: UTF8.self)
    try check()
  }

  func check() throws(StorageError) {
    guard !url.isEmpty else { throw .badRequest("no credentials server URL") }
  }

  /// Returns the answer to docker's `get`; `nil` if there is no usable credential.
  func get(now: Timestamp, find: Find, load: Load) async throws(StorageError) -> Secret? {
    let found = try await allPages(of: CredentialQuery(service: url), find)
    let usable = found.filter { !$0.isExpired(at: now) }
    // Docker's own credentials come first. A `list` contains only these, so it agrees with `get`.
    guard
      let newest = usable.filter({ $0.isSaved(by: .docker) }).newestFirst.first
        ?? usable.filter(\.isSavedByHand).newestFirst.first,
      let credential = try await stored(newest.key, load)
    else { return nil }
    return try DockerCredential(credential).line
  }

  /// Deletes the credentials that docker saved, of all users: a logout must not switch to another
  /// user.
  func erase(find: Find, delete: Delete) async throws(StorageError) {
    let query = CredentialQuery(service: url, attributes: dockerAttributes)
    for summary in try await allPages(of: query, find) {
      try await KistInterop.delete(summary, delete)
    }
  }
}

/// Returns the registries that docker is logged in to, each with the user that a `get` returns.
func dockerList(now: Timestamp, find: Find) async throws(StorageError) -> Secret {
  let found = try await allPages(of: CredentialQuery(attributes: dockerAttributes), find)
  var listed: Set<CredentialKey> = []
  let newest = found.filter { !$0.isExpired(at: now) }.newestFirst.filter {
    listed.insert(CredentialKey(service: $0.key.service)).inserted
  }
  return JSONWriter.object { writer in
    for summary in newest.sorted(by: { $0.key < $1.key }) {
      writer.member(escaping: summary.key.service, summary.key.account)
    }
  }.withNewline
}

private let dockerAttributes: Attributes = [Attributes.toolName: Tool.docker.rawValue]
