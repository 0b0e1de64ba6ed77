package import KistCore

extension UserStorage {
  /// Returns the error for a missing credential that names stored ones of nearly the same name, or says
  /// that there are no credentials; `nil` if there are others.
  ///
  /// For a key without an account, these are the accounts of its service. Otherwise they are those of
  /// the services of the same host.
  ///
  /// - Parameter remedy: returns the text for the hint with which the user gets one of them.
  package func nearby(
    _ key: CredentialKey, remedy: (CredentialKey) -> String
  ) async throws(StorageError) -> StorageError? {
    if key.account.isEmpty {
      let error = try await error(
        "every credential of the service has an account", hint: "name the account",
        naming: CredentialQuery(service: key.service), remedy)
      if let error { return error }
    }
    for service in services(near: key.service) {
      let error = try await error(
        "there is no such credential, but the service \(service) has", hint: "name that service",
        naming: CredentialQuery(service: service, account: key.account.isEmpty ? nil : key.account),
        remedy)
      if let error { return error }
    }
    return try await find(CredentialQuery(limit: 1)).credentials.isEmpty ? .emptyStorage : nil
  }

  /// Returns an error that names the accounts of the found credentials; `nil` if there are none.
  private func error(
    _ message: String, hint: String, naming query: CredentialQuery,
    _ remedy: (CredentialKey) -> String
  ) async throws(StorageError) -> StorageError? {
    let keys = try await findAll(query).map(\.key).sorted()
    guard let first = keys.first else { return nil }
    let names = keys.map { $0.account.isEmpty ? "one without an account" : shortened($0.account) }
    return StorageError(
      .notFound, "\(message): \(beginning(of: names))", hint: "\(hint): `\(remedy(first))`")
  }
}

extension StorageError {
  fileprivate static let emptyStorage = StorageError(
    .notFound, "the storage has no credentials",
    hint:
      "`kist status` shows which storage it is; a new store or keyring is empty")
}

/// Returns the other names of the host of a service: `https://HOST`, `HOST` and `https://HOST/`.
///
/// The service may have a path, which is left out, and begin with `http://`.
private func services(near service: String) -> [String] {
  let scheme = "https://"
  let given = [scheme, "http://"].first { service.hasPrefix($0) }
  let rest = service.dropFirst(given?.count ?? 0)
  let host = rest.prefix { $0 != "/" }
  guard !host.isEmpty else { return [] }
  return [scheme + host, String(host), scheme + host + "/"].filter {
    $0 != service && $0.utf8.count <= Limits.keyPart
  }
}

/// Returns the first five names in a text, so that the hint after it stays visible.
package func beginning(of names: [String]) -> String {
  let rest = names.count > 5 ? ", and \(names.count - 5) more" : ""
  return names.prefix(5).joined(separator: ", ") + rest
}

package func shortened(_ name: String) -> String {
  name.count > 64 ? name.prefix(64) + "…" : name
}
