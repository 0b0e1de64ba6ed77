package import KistCore

/// Loads the secrets of references, each credential once.
struct References {
  private let load: Load
  private var secrets: [CredentialKey: Secret] = [:]

  init(_ load: @escaping Load) { self.load = load }

  mutating func secret(
    of reference: CredentialReference, place: String
  ) async throws(StorageError) -> Secret {
    if let secret = secrets[reference.key] { return secret }
    do throws(StorageError) {
      let secret = try await load(LoadRequest(key: reference.key)).secret
      secrets[reference.key] = secret
      return secret
    } catch {
      throw error.at(place)
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
  var references = References(storage.load)
  var settings: [Setting] = []
  let last = Dictionary(
    zip(variables.map(\.name), variables.indices), uniquingKeysWith: { _, later in later })
  for (index, variable) in variables.enumerated() where last[variable.name] == index {
    switch variable.value {
    case .text(let text): settings.append(Setting(name: variable.name, value: text))
    case .reference(let reference):
      let secret = try await references.secret(of: reference, place: variable.place)
      settings.append(Setting(name: variable.name, value: secret))
    }
  }
  return settings
}

extension CredentialReference {
  /// Reads the bytes of a reference; returns `nil` if they are not a reference.
  init?(reading bytes: Span<UInt8>) {
    guard let text = String(validating: bytes) else { return nil }
    self.init(text)
  }
}

/// Whether bytes begin like a reference, and so are meant to be one.
func isReference(_ bytes: Span<UInt8>) -> Bool { bytes.hasPrefix("kist://") }

extension StorageError {
  static func badReference(at place: String) -> StorageError {
    StorageError(
      .badRequest, "\(place) has no reference kist://SERVICE/ACCOUNT",
      hint: "name one that was saved: begin with kist://, and percent-encode all but letters, "
        + "digits and -._~")
  }

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

extension CredentialReference {
  /// Refuses a reference to a service that is not in `services`, unless that is empty.
  ///
  /// Throws `denied`, which contains the place but not the reference.
  func check(isOfOneOf services: [String], at place: String) throws(StorageError) {
    guard !services.isEmpty, !services.contains(key.service) else { return }
    throw StorageError(
      .denied, "\(place): the reference names a service that `--only` does not allow",
      hint: "nothing was loaded; allow the service with another `--only SERVICE`",
      outcome: .unchanged)
  }
}

extension Variable {
  /// Refuses a reference to a service that is not in `services`, unless that is empty.
  ///
  /// Throws `denied`.
  package func check(only services: [String]) throws(StorageError) {
    guard case .reference(let reference) = value else { return }
    try reference.check(isOfOneOf: services, at: place)
  }
}
