internal import KistCore
private import KistSodium
private import Synchronization

extension FileStore {
  func status() throws(StorageError) -> StorageStatus {
    let session = try state.withLock { state throws(StorageError) -> Session? in
      switch state {
      case .unlocked(let session): return session
      case .locked: return nil
      case .closed: throw .closed
      }
    }
    let slots = try readKeySlots()
    let file = unlockingFile(slots)
    let opens = opensByItself(slots, file)
    var status = StorageStatus(
      storage: "encrypted-file", isLocked: session == nil,
      unlocksWith: file == nil || !opens && takesPassphrase(slots) ? .passphrase : .keyFile,
      reopensAtRestart: opens,
      durability: .disk,
      keyProtection: keyProtection(slots, opens ? file : nil), integrity: session?.check.integrity)
    if let session {
      status.count = try connections.read { database throws(StorageError) in
        Int(clamping: try database.header(session.keys).count)
      }
    }
    return status
  }

  /// Forgets the keys once what was begun is finished.
  func lock() async throws(StorageError) -> StorageStatus {
    let reason = StorageError.locked("the storage is locked")
    let session = try state.withLock { state throws(StorageError) -> Session? in
      switch state {
      case .closed: throw .closed
      case .locked: return nil
      case .unlocked(let session):
        state = .locked(reason)
        return session
      }
    }
    await quiesce(session, because: reason)
    return try status()
  }

  /// Unlocks the store, or verifies the key of one that is open.
  func unlock(_ passphrase: Secret?) async throws(StorageError) -> StorageStatus {
    _ = try status()
    try await attempts.make(with: passphrase) { [self] () throws(StorageError) in
      let session = try unlockedSession(passphrase)
      try state.withLock { state throws(StorageError) in
        switch state {
        case .closed: throw .closed
        case .unlocked: return
        case .locked: state = .unlocked(session)
        }
        session.check.start()
        watchers.tell([.reset])
      }
    }
    return try status()
  }

  private func unlockedSession(_ passphrase: Secret?) throws(StorageError) -> Session {
    let slots = try readKeySlots()
    let source = passphrase.map { EncryptedFile.KeySource.passphrase($0) } ?? options.keySource
    let master = try masterKey(from: source, slots, storeID: storeID)
    return try Session(
      master: master, storeID: storeID, path: options.path, reading: connections)
  }

  /// The file that unlocks the store when nobody is there, if it is one that can.
  func unlockingFile(_ slots: [KeySlot]) -> String? {
    switch options.keySource {
    case .keyFile(let path): slots.openWithKeyFile ? path : nil
    case .passphraseFile(let path): slots.openWithPassphrase ? path : nil
    case .passphrase, .none: nil
    }
  }

  /// Whether the store would open now when nobody is there; a passphrase takes too long to be tried.
  private func opensByItself(_ slots: [KeySlot], _ file: String?) -> Bool {
    guard let file else { return false }
    if case .passphraseFile = options.keySource { return (try? exists(file)) == true }
    return (try? masterKey(from: options.keySource, slots, storeID: storeID)) != nil
  }

  /// Whether a passphrase stands in for a file that does not open the store; one that is refused as it
  /// is keeps kistd from starting, and is to be mended.
  private func takesPassphrase(_ slots: [KeySlot]) -> Bool {
    slots.openWithPassphrase
      && (try? EncryptedFile.checkFile(of: options.keySource)) != nil
  }

  /// What protects the key, and from whom; a file is named where it opens the store, or that of a
  /// passphrase, which is not tried for that, where it is there.
  private func keyProtection(_ slots: [KeySlot], _ file: String?) -> String {
    if case .passphraseFile(let path) = options.keySource, file == nil, !slots.openWithKeyFile {
      return "a passphrase; the file that should have it, \(path), is missing"
    }
    guard slots.openWithKeyFile || file != nil else {
      return "a passphrase, which is kept nowhere: while the store is unlocked, its key is in the "
        + "memory of kistd"
    }
    var named = (keyFile: "a key file", passphrase: "a passphrase")
    switch options.keySource {
    case .keyFile: named.keyFile += file.map { ", \($0)" } ?? ""
    case .passphraseFile: named.passphrase += file.map { " file, \($0)" } ?? ""
    case .passphrase, .none: break
    }
    let alone = "the store alone is as safe as the passphrase is hard to guess"
    return switch (slots.openWithKeyFile, slots.openWithPassphrase) {
    case (true, true):
      "\(named.keyFile), or \(named.passphrase): whoever has one of them and can read the store can "
        + "read the credentials; \(alone)"
    case (true, false):
      "\(named.keyFile): whoever can read it and the store can read the credentials; the store "
        + "without it tells nothing"
    case (false, _):
      "\(named.passphrase): whoever can read it and the store can read the credentials; \(alone)"
    }
  }
}
