internal import KistClient
internal import KistCore
internal import KistWire

/// The shared vault of the running kistd.
struct RunningVault {
  /// The credentials in its copy.
  let credentials: UserStorage
  /// What it knew of the vault a moment ago.
  let status: SharedVaultStatus

  /// Asks kistd for its status; throws `unavailable` unless it uses the shared vault.
  init(_ options: Options, _ environment: (String) -> String?) async throws(StorageError) {
    let socket = try socketLocation(options, environment).path
    guard let vault = try await StorageAccess.remote(socketPath: socket).status().vault else {
      throw StorageError(
        .unavailable, "the running kistd does not use the shared vault",
        hint: "start a kistd that does; `kist status` shows the storage and the reason")
    }
    credentials = .remote(socketPath: socket)
    status = vault
  }
}
