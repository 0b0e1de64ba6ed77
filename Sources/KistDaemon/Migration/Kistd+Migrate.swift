internal import KistCore
internal import KistFile
internal import Logging

/// `kistd migrate`: moves the credentials to another storage, and gives the exit status.
func migrate(
  _ arguments: [String], environment: @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  let (kind, options) = try parse(MigrateCommand.self, arguments).options(environment: environment)
  let logger = Logger.kistd(level: options.logLevel)
  let pinFile = PinFile(path: options.pinFile)
  let presence = EncryptedFile.presence(at: options.storePath)
  let pin = try pinFile.read().map { pinFile.settled($0, on: presence) }
  // A pinned file that is gone, or is another one, is not the one to move from, or on to.
  if pin != nil { _ = try Selection.select(asked: nil, pin: pin, keyring: nil, file: presence) }
  let keepsSource = try options.keepsKeyring(migratingTo: kind)
  if keepsSource, pin?.kind == kind {
    return try tell(.moved(0, left: []), to: kind, before: pin, options)
  }
  let keySource = try EncryptedFile.KeySource(options)
  let bus = sessionBusAddress(environment: environment, isSocket: isSocket)
  let keyring = try OpenStorage.keyring(options, busAddress: bus).mappingErrors { error in
    // Whose credentials are in the file does without the keyring already.
    pin?.kind == .encryptedFile ? error : error.ofKeyring(isPinned: pin != nil)
  }
  return try await keyring.closed { keyring throws(StorageError) in
    // First, so that no file is made beside a keyring out of reach.
    do throws(StorageError) { try await requireOpen(keyring) } catch {
      guard kind == .encryptedFile, pin?.kind == kind, [.unavailable, .locked].contains(error.code)
      else {
        throw error
      }
      tell(
        "credentials are kept in \(kind.name) already; whether any were left in "
          + "\(kind.other.name) cannot be seen: \(error.message)")
      return 0
    }
    if kind == .libsecret, presence == .absent {
      try pinFile.write(Pin(kind: kind, storeID: nil), insteadOf: pin)
      return try tell(.moved(0, left: []), to: kind, before: pin, options)
    }
    return try await OpenStorage.encryptedFile(options, pin, keySource: keySource, logger: logger)
      .closed { file throws(StorageError) in
        try await requireOpen(file, openedBy: keySource)
        let (source, target) = kind == .libsecret ? (file, keyring) : (keyring, file)
        var previous = pin
        if pin == nil, try await target.credentials.findAll().isEmpty {
          // Cut off, it would leave credentials in both, and nothing to say which ones count.
          let begun = Pin(kind: kind.other, storeID: source.id)
          try pinFile.write(begun, insteadOf: nil)
          previous = begun
        }
        let new = Pin(kind: kind, storeID: target.id)
        let outcome = try await Migration(
          from: source.credentials, to: target.credentials, isSwitched: pin == new,
          keepsSource: keepsSource,
          switchPin: { [previous] () throws(StorageError) in
            try pinFile.write(new, insteadOf: previous)
          }, report: { showProgress($0.rawValue, $1, $2) }
        ).runAsCommand()
        return try tell(outcome, to: kind, before: pin, options)
      }
  }
}

extension OpenStorage {
  /// Lends the storage, and closes it however that ends.
  fileprivate func closed<Result>(
    after body: (OpenStorage) async throws(StorageError) -> Result
  ) async throws(StorageError) -> Result {
    do throws(StorageError) {
      let result = try await body(self)
      await close()
      return result
    } catch {
      await close()
      throw error
    }
  }
}

/// Unlocks a storage that is locked, where it must by the prompt of a keyring: it is a person who
/// migrates.
///
/// - Parameter keySource: of an encrypted file.
private func requireOpen(
  _ storage: OpenStorage, openedBy keySource: EncryptedFile.KeySource? = nil
) async throws(StorageError) {
  let status = try await storage.access.status()
  guard status.isLocked else { return }
  do throws(StorageError) { _ = try await storage.access.unlock(nil) } catch {
    guard let keySource, error.code == .locked else { throw error }
    if status.unlocksWith == .passphrase { throw error.withoutKistd }
    let isKeyFile = if case .keyFile = keySource { true } else { false }
    throw .locked(
      error.message,
      hint: isKeyFile
        ? "name the store's key file with --key-file" : "put it right, and run it again")
  }
}
