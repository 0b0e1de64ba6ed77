package import KistCore
internal import KistSodium
internal import KistSystem

extension EncryptedFile {
  /// A file that was made as a backup, and what opens it.
  package struct BackupFile: Sendable {
    package var path: String
    /// Gives the passphrase; not called before it is seen that there is something to open with it.
    package var passphrase: @Sendable () throws(StorageError) -> Secret

    package init(
      path: String, passphrase: @escaping @Sendable () throws(StorageError) -> Secret
    ) {
      self.path = path
      self.passphrase = passphrase
    }
  }

  /// Reads all of a backup, and gives how many credentials are in it; makes nothing.
  package static func verify(
    _ backup: BackupFile, report: (_ done: Int, _ of: Int) -> Void = { _, _ in }
  ) throws(StorageError) -> Int {
    try read(backup, report: report).count
  }

  private static func read(
    _ backup: BackupFile, report: (_ done: Int, _ of: Int) -> Void
  ) throws(StorageError) -> WholeStore {
    do throws(StorageError) {
      let original = try WholeStore(backup)
      try original.eachCredential(report: report) { _ in }
      return original
    } catch { throw error.ofBackup }
  }

  /// Makes a store of a backup, where there is none, and gives its id and how many credentials it has.
  ///
  /// Throws `conflict` where there is a store, and then or on any other error nothing is made, unless
  /// the outcome is `unknown`.
  ///
  /// - Parameters:
  ///   - new: where it is made, and what opens it.
  ///   - willSwitch: told the id of the store that is about to have its name.
  ///   - reading: told how far the backup was read, before anything is made of it.
  ///   - copying: told how far it was copied.
  package static func restore(
    _ backup: BackupFile, to new: Options,
    willSwitch: (_ id: String) throws(StorageError) -> Void = { _ in },
    reading: (_ done: Int, _ of: Int) -> Void = { _, _ in },
    copying: (_ done: Int, _ of: Int) -> Void = { _, _ in }
  ) throws(StorageError) -> (id: String, count: Int) {
    // Before anybody is asked for a passphrase in vain.
    if try exists(new.path) { try OwnerLock(beside: new.path, orRefuseWith: .busy).release() }
    try refuseStore(at: new.path)
    let original = try read(backup, report: reading)
    try prepareDirectory(of: new.path)
    let owner = try OwnerLock(beside: new.path, orRefuseWith: .busy)
    defer { owner.release() }
    try refuseStore(at: new.path)
    try refuseLog(of: new.path)
    let id = randomBytes(StoreFormat.storeIDSize)
    let copy = UnfinishedStore.new(beside: new.path)
    do throws(StorageError) {
      try flushNames(of: directory(of: new.path))
      try copy.write(copyOf: original, new, id: id, openedBy: [new.keySource], report: copying)
      try willSwitch(hexadecimal(id))
      try copy.rename(to: new.path)
    } catch {
      guard error.outcome != .unknown else { throw error }
      copy.discard()
      throw error.withOutcome(.unchanged)
    }
    do throws(StorageError) { try flushDirectory(of: new.path) } catch {
      throw error.withOutcome(.unknown)
    }
    return (hexadecimal(id), original.count)
  }
}

extension WholeStore {
  fileprivate init(_ backup: EncryptedFile.BackupFile) throws(StorageError) {
    guard try exists(backup.path) else {
      throw StorageError(.badRequest, "there is no file \(backup.path)", hint: "name the backup")
    }
    guard try isRegularFile(backup.path) else {
      throw StorageError(
        .badRequest, "what is at \(backup.path) is no regular file", hint: "name the backup")
    }
    try self.init(backup.path, openedBy: .passphrase(backup.passphrase()))
  }
}

extension StorageError {
  /// The error where what is read is a backup, and not the store in use.
  fileprivate var ofBackup: StorageError {
    var error = withOutcome(.unchanged)
    switch code {
    case .corrupt:
      error.message = "the backup is damaged, or not whole: \(message)"
      error.hint = "nothing was made; take another copy of the backup, or another backup"
    case .wrongPassphrase:
      error.hint = "give the passphrase that `kist backup` was given; nothing was made"
    default: break
    }
    return error
  }
}
