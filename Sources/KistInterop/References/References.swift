package import KistCore

/// Loads the secrets of references, each credential once.
struct References {
  let storage: UserStorage
  private var secrets: [CredentialKey: Secret] = [:]

  init(in storage: UserStorage) { self.storage = storage }

  mutating func secret(
    of reference: CredentialReference, at place: String
  ) async throws(StorageError) -> Secret {
    if let secret = secrets[reference.key] { return secret }
    do throws(StorageError) {
      let secret = try await storage.load(reference.key).secret
      secrets[reference.key] = secret
      return secret
    } catch {
      guard error.code == .notFound else { throw error.at(place) }
      let nearby = try? await storage.nearby(reference.key) { "\(CredentialReference($0))" }
      throw ((nearby ?? nil) ?? error).at(place)
    }
  }
}

/// A variable and its value.
package struct Setting: Sendable, Equatable {
  package var name: String
  package var value: Secret

  package init(name: String, value: Secret) {
    self.name = name
    self.value = value
  }
}

/// Returns the values of variables; for a repeated name, only the last one counts and is loaded.
package func settings(
  of variables: [Variable], from storage: UserStorage
) async throws(StorageError) -> [Setting] {
  var references = References(in: storage)
  var settings: [Setting] = []
  let last = Dictionary(
    zip(variables.map(\.name), variables.indices), uniquingKeysWith: { _, later in later })
  for (index, variable) in variables.enumerated() where last[variable.name] == index {
    let value =
      switch variable.value {
      case .text(let text): text
      case .reference(let reference):
        try await references.secret(of: reference, at: variable.place)
      }
    settings.append(Setting(name: variable.name, value: value))
  }
  return settings
}

extension CredentialReference {
  /// Reads a reference; an error names `place` instead of the text, which may be a secret.
  init(_ text: String?, at place: String) throws(StorageError) {
    guard let reference = text.flatMap(Self.init) else {
      throw .badRequest(
        "\(place) has no reference kist://SERVICE/ACCOUNT",
        hint: (text?.hasPrefix(Self.scheme) == true ? "" : "begin the reference with kist://; ")
          + Self.hint)
    }
    self = reference
  }

  /// Throws `denied`, with the place but not the reference, unless `services` allows it.
  func check(isOfOneOf services: [String], at place: String) throws(StorageError) {
    // By bytes, because kistd distinguishes names that Unicode holds equal.
    let isAllowed = services.isEmpty || services.contains { $0.hasSameBytes(as: key.service) }
    if isAllowed { return }
    throw .refused(
      "\(place): the reference names a service that `--only` does not allow", as: .denied,
      hint: "nothing was loaded; allow the service with another `--only SERVICE`")
  }
}

/// Whether bytes begin like a reference, and so are meant to be one.
func isReference(_ bytes: Span<UInt8>) -> Bool { bytes.hasPrefix("kist://") }

extension StorageError {
  /// Adds the place to an error about one credential; returns errors about the storage unchanged.
  func at(_ place: String) -> StorageError {
    guard [.notFound, .expired, .badRequest, .tooLarge, .corrupt].contains(code) else {
      return self
    }
    var error = orSaveAgain
    error.message = "\(place): \(message)"
    return error
  }
}
