internal import KistCore
internal import KistFile
internal import Logging

/// Runs `kistd migrate`: moves the credentials to another storage, and returns the exit status.
func migrate(
  _ arguments: [String], environment: @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  let (kind, options) = try parse(MigrateCommand.self, arguments).options(environment: environment)
  let logger = Logger.kistd(level: options.logLevel)
  let pinFile = PinFile(path: options.pinFile)
  let presence = EncryptedFile.presence(at: options.storePath)
  let pin = try pinFile.read().map { pinFile.settled($0, on: presence) }
  // A pinned file that is missing or replaced is not a valid source or target.
  if pin != nil { _ = try Selection.select(asked: nil, pin: pin, keyring: nil, file: presence) }
  let keepsSource = try options.keepsKeyring(migratingTo: kind)
  if keepsSource, pin?.kind == kind {
    return try tell(.moved(0, left: []), to: kind, before: pin, options)
  }
  let keySource = try EncryptedFile.KeySource(options)
  if kind == .libsecret, case .store = presence {
    try refuseFields(in: options.storePath, openedBy: keySource)
  }
  let bus = sessionBusAddress(environment: environment, isSocket: isSocket)
  let keyring = try OpenStorage.keyring(options, busAddress: bus).mappingErrors { error in
    // If the credentials are in the file, kistd already works without the keyring.
    pin?.kind == .encryptedFile ? error : error.ofKeyring(isPinned: pin != nil)
  }
  return try await keyring.closed { keyring throws(StorageError) in
    // Comes first, so that no file is made if the keyring is out of reach.
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
    return try await OpenStorage.encryptedFile(
      options, pin, keySource: keySource,
      progress: EncryptedFile.ProgressOptions(options, logger: logger), logger: logger
    )
    .closed { file throws(StorageError) in
      try await requireOpen(file, openedBy: keySource)
      let (source, target) = kind == .libsecret ? (file, keyring) : (keyring, file)
      var previous = pin
      if pin == nil, try await target.credentials.findAll().isEmpty {
        // Without a pin, an interrupted migration would leave credentials in both storages, and no
        // record of which one counts.
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
  /// Passes the storage to the closure, and closes it in every case.
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

/// Throws if a later version of kist keeps data with a credential that a keyring cannot store.
private func refuseFields(
  in store: String, openedBy keySource: EncryptedFile.KeySource
) throws(StorageError) {
  let extended = try EncryptedFile.examine(path: store, keySource: keySource).extended
  guard extended == 0 else {
    throw StorageError(
      .denied,
      "a later version of kist keeps data with \(counted(extended)) that would be lost in a keyring; "
        + "nothing was copied or removed",
      hint: "move them with that version of kistd", outcome: .unchanged)
  }
}

/// Unlocks a locked storage, with the keyring's prompt if necessary, because migration is
/// interactive.
///
/// - Parameter keySource: the key source of an encrypted file.
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
