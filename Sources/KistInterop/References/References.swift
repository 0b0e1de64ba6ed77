internal import KistCore

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
