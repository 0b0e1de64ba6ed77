package import KistCore
internal import KistSodium
internal import KistSystem
internal import KistVault
private import Synchronization

extension FileStore {
  func status() throws(StorageError) -> StorageStatus {
    let session = try sessionIfUnlocked()
    var problem: StorageError?
    if session != nil {
      do throws(StorageError) { try connections.checkPlaces() } catch { problem = error }
    }
    do throws(StorageError) {
      var status = try status(of: session)
      status.problem = problem ?? foundDamage
      return status
    } catch {
      // The store was locked meanwhile.
      if session != nil, error.code == .locked { return try self.status() }
      guard let problem else { throw error }
      return unreadable(isLocked: false, because: problem)
    }
  }

  /// The damage that the last unlock found, because of which the store is locked.
  private var foundDamage: StorageError? {
    state.withLock { if case .locked(_, let problem) = $0 { problem } else { nil } }
  }

  private func status(of session: Session?) throws(StorageError) -> StorageStatus {
    let slots = try readKeySlots()
    let file = unlockingFile(slots)
    let opens = opensByItself(slots, file)
    var status = StorageStatus(
      storage: "encrypted-file", path: connections.path, isLocked: session == nil,
      unlocksWith: unlocking(slots, file, opensByItself: opens),
      reopensAtRestart: opens, durability: .disk,
      keyProtection: keyProtection(slots, opens ? file : nil), keysInRAM: session?.keys.areInRAM,
      integrity: session?.check.integrity)
    if let session { status.count = Int(clamping: try session.header(in: connections).count) }
    return status
  }

  private func unreadable(isLocked: Bool, because problem: StorageError) -> StorageStatus {
    StorageStatus(
      storage: "encrypted-file", path: connections.path, isLocked: isLocked,
      reopensAtRestart: false, durability: .disk,
      keyProtection: "unknown, because the encrypted file cannot be read", problem: problem)
  }

  /// Forgets the keys and closes the files after running requests have finished.
  ///
  /// This succeeds whatever the state of the files; the status has their problem.
  func lock() async throws(StorageError) -> StorageStatus {
    let reason = StorageError.locked("the storage is locked")
    let (session, unlocks) = try state.withLock { state throws(StorageError) -> (Session?, Int) in
      let unlocks = connections.unlockCount
      switch state {
      case .closed: throw .closed
      case .locked: return (nil, unlocks)
      case .unlocked(let session):
        state = .locked(reason)
        return (session, unlocks)
      }
    }
    await quiesce(session, because: reason)
    var failure: StorageError?
    if let session {
      failure = connections.lock(
        reason, isKnown: session.check.integrity == .ok, unlessAfter: unlocks)
      if let failure { options.whenLogKept(failure) }
    }
    var status: StorageStatus
    do throws(StorageError) { status = try self.status() } catch {
      status = unreadable(isLocked: true, because: error)
    }
    if let failure { status.problem = failure }
    return status
  }

  /// Unlocks the store, or verifies the key of an open store.
  func unlock(_ passphrase: Secret?) async throws(StorageError) -> StorageStatus {
    _ = try status()
    try await options.attempts.make(with: passphrase) { [self] () throws(StorageError) in
      let wasLocked = try sessionIfUnlocked() == nil
      let session = try unlockedSession(passphrase, isLocked: wasLocked)
      try state.withLock { state throws(StorageError) in
        switch state {
        case .closed: throw .closed
        case .unlocked: return
        // An open store was locked meanwhile.
        case .locked where !wasLocked: return
        case .locked: state = .unlocked(session)
        }
        session.check.start()
        watchers.tell([.reset])
      }
    }
    return try status()
  }

  /// Unlocks the store, or records why it stays locked.
  ///
  /// With a passphrase, only damage is recorded: other errors say nothing about the key file.
  private func unlockedSession(
    _ passphrase: Secret?, isLocked: Bool
  ) throws(StorageError) -> Session {
    do throws(StorageError) {
      let source = passphrase.map { EncryptedFile.KeySource.passphrase($0) } ?? options.keySource
      if isLocked { try connections.unlock() }
      let master = try masterKey(from: source, readKeySlots(), storeID: storeID)
      return try Session(master: master, storeID: storeID, options, reading: connections)
    } catch {
      if isLocked {
        _ = connections.lock(
          .locked("the storage is locked"), isKnown: false, unlessAfter: connections.unlockCount)
      }
      state.withLock { state in
        let isDamage = error.code == .corrupt
        guard passphrase == nil || isDamage, case .locked = state else { return }
        let reason = StorageError(.locked, error.message, hint: error.hint)
        state = .locked(reason, problem: isDamage ? error : nil)
      }
      throw error
    }
  }

  /// Returns the file that unlocks the store unattended, if there is one.
  func unlockingFile(_ slots: [KeySlot]) -> String? {
    switch options.keySource {
    case .keyFile(let path): slots.hasKeyFileSlot ? path : nil
    case .passphraseFile(let path): slots.hasPassphraseSlot ? path : nil
    case .passphrase, .none: nil
    }
  }

  /// Returns whether the store would now open unattended; tries a key file, but not a passphrase, which
  /// takes long.
  private func opensByItself(_ slots: [KeySlot], _ file: String?) -> Bool {
    guard let file else { return false }
    if case .passphraseFile = options.keySource {
      let reason: StorageError? = state.withLock {
        if case .locked(let why, _) = $0 { why } else { nil }
      }
      return (try? exists(file)) == true && reason != .wrongPassphrase(inFile: file)
    }
    return (try? masterKey(from: options.keySource, slots, storeID: storeID)) != nil
  }

  private func unlocking(
    _ slots: [KeySlot], _ file: String?, opensByItself: Bool
  ) -> StorageStatus.Unlocking {
    guard slots.contains(where: \.isKnown) else { return .unknown }
    guard file != nil else { return .passphrase }
    // A refused file must be repaired, because kistd does not start with it.
    let takesPassphrase =
      !opensByItself && slots.hasPassphraseSlot
      && (try? EncryptedFile.checkPlaces(options)) != nil
    return takesPassphrase ? .passphrase : .keyFile
  }

  /// Returns the sentence about what protects the key, and from whom.
  private func keyProtection(_ slots: [KeySlot], _ file: String?) -> String {
    let unknown = slots.count { !$0.isKnown }
    if unknown == 0 { return knownProtection(slots, file) }
    let others =
      unknown == 1
      ? "a key slot of a kind that this kistd does not know"
      : "\(unknown) key slots of kinds that this kistd does not know"
    if unknown == slots.count { return others }
    return knownProtection(slots, file) + "; \(others) may also open the store"
  }

  /// Returns the sentence about known slots, with the file if this opens or may open the store.
  private func knownProtection(_ slots: [KeySlot], _ file: String?) -> String {
    if case .passphraseFile(let path) = options.keySource, file == nil, !slots.hasKeyFileSlot {
      return "a passphrase; the file that should have it, \(path), is missing"
    }
    guard slots.hasKeyFileSlot || file != nil else {
      return "a passphrase, which is not stored: while the store is unlocked, its key is in the "
        + "memory of kistd"
    }
    var named = (keyFile: "a key file", passphrase: "a passphrase")
    switch options.keySource {
    case .keyFile: named.keyFile += file.map { ", \($0)" } ?? ""
    case .passphraseFile: named.passphrase += file.map { " file, \($0)" } ?? ""
    case .passphrase, .none: break
    }
    let alone = "the store alone is as safe as the passphrase is hard to guess"
    return switch (slots.hasKeyFileSlot, slots.hasPassphraseSlot) {
    case (true, true):
      "\(named.keyFile), or \(named.passphrase): anybody who has one of them and can read the store can "
        + "read the credentials; \(alone)"
    case (true, false):
      "\(named.keyFile): anybody who can read it and the store can read the credentials; the store "
        + "reveals nothing without it"
    case (false, _):
      "\(named.passphrase): anybody who can read it and the store can read the credentials; \(alone)"
    }
  }
}

/// Unwraps the master key of a store; throws `locked` when the required key is not available.
func masterKey(
  from source: EncryptedFile.KeySource, _ slots: [KeySlot], storeID: [UInt8]
) throws(StorageError) -> GuardedKey {
  guard slots.contains(where: \.isKnown) else {
    throw .locked(
      "all key slots of the store are of kinds that this version of kistd does not know",
      hint: "update kistd")
  }
  switch source {
  case .none: throw .withoutPassphrase
  case .keyFile(let path):
    guard slots.hasKeyFileSlot else { throw .withoutPassphrase }
    // A change of the key file may have been interrupted.
    for path in [path, KeyFileChange(of: path, for: storeID).next] {
      guard let key = try KeyFile.read(path) else { continue }
      if let master = try openSlot(with: key, among: slots, storeID: storeID) { return master }
    }
    let otherwise = slots.hasPassphraseSlot ? "; or give `kist unlock` the passphrase" : ""
    guard try exists(path) else {
      throw .locked(
        "the store's key file \(path) is missing",
        hint:
          "put it back, then run `kist unlock`; if its directory was also missing, restart kistd"
          + otherwise)
    }
    if let kept = KeyFileChange.keptKey(of: path, opening: slots, storeID: storeID) {
      throw .locked(
        "the key file \(path) does not open this store, but a key that `kistd rekey` kept does",
        hint: "start kistd with the kept key: `--key-file \(shellQuoted(kept))`\(otherwise)")
    }
    throw .locked(
      "the key file \(path) does not open this store",
      hint:
        "move it away, because another store may need it; put the right key file there, then run "
        + "`kist unlock`; or start kistd with the right one: `--key-file PATH`\(otherwise)")
  case .passphraseFile(let path):
    guard let passphrase = try PassphraseFile.read(path) else {
      throw .locked(
        "the file with the store's passphrase, \(path), is missing",
        hint: "put it back, then run `kist unlock`; or give `kist unlock` the passphrase")
    }
    do throws(StorageError) {
      return try openSlot(with: passphrase, among: slots, storeID: storeID).master
    } catch  where error.code == .wrongPassphrase {
      throw .wrongPassphrase(inFile: path)
    }
  case .passphrase(let passphrase):
    return try openSlot(with: passphrase, among: slots, storeID: storeID).master
  }
}

extension StorageError {
  fileprivate static func wrongPassphrase(inFile path: String) -> StorageError {
    .locked(
      "the passphrase in \(path) does not open this store",
      hint: "correct it and restart kistd, or give `kist unlock` the passphrase")
  }
}

extension EncryptedFile.Options {
  /// Throws for a passphrase that a new store would refuse, before anything is created.
  package func checkFirstPassphrase() throws(StorageError) {
    let passphrase: Secret? =
      switch keySource {
      case .passphrase(let passphrase): passphrase
      case .passphraseFile(let path): try PassphraseFile.read(path)
      case .keyFile, .none: nil
      }
    if let passphrase { try checkNewPassphrase(passphrase, allowsWeak: allowsWeakPassphrase) }
  }

  /// The options without the passphrase, which is not kept.
  var withoutPassphrase: Self {
    var options = self
    if case .passphrase = keySource { options.keySource = .none }
    return options
  }
}

extension StorageError {
  fileprivate static let withoutPassphrase = locked(
    "the store needs its passphrase",
    hint: "unlock it with `kist unlock`; or give kistd the passphrase when it starts, from a file: "
      + "`kistd --passphrase-fd 3 -- COMMAND 3<FILE`")
}
