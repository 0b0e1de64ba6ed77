internal import Glibc
package import KistCore
internal import KistSodium
internal import KistSystem
internal import KistVault

extension EncryptedFile {
  /// A backup file and its passphrase.
  package struct BackupFile: Sendable {
    package var path: String
    /// Returns the passphrase; called only if there is a regular file at the path.
    package var passphrase: @Sendable () throws(StorageError) -> Secret

    package init(path: String, passphrase: @escaping @Sendable () throws(StorageError) -> Secret) {
      (self.path, self.passphrase) = (path, passphrase)
    }
  }

  /// Reads a whole backup and returns the number of its credentials; creates nothing.
  package static func verify(
    _ backup: BackupFile, report: (_ done: Int, _ of: Int) -> Void = { _, _ in }
  ) throws(StorageError) -> Int {
    try read(backup, report: report).count
  }

  /// Reads a whole backup; its errors name the backup in place of the store in use.
  private static func read(
    _ backup: BackupFile, report: (_ done: Int, _ of: Int) -> Void
  ) throws(StorageError) -> WholeStore {
    do throws(StorageError) {
      let path = backup.path
      if try !isRegularFile(path) {
        let fault =
          try exists(path) ? "\(path) is not a regular file" : "there is no file \(path)"
        throw StorageError(.badRequest, fault, hint: "name the backup")
      }
      // Only root may change the owner of a file, but each user can copy it.
      guard fileStatus(of: path)?.st_uid == geteuid() else {
        throw StorageError(
          .denied, "the backup \(path) belongs to another user",
          hint: "copy it with `cp`, and name the copy; nothing was written")
      }
      let original = try WholeStore(path, openedBy: .passphrase(backup.passphrase()))
      try original.eachCredential(report: report) { _ in }
      return original
    } catch {
      var error = error.withOutcome(.unchanged)
      if error.code == .corrupt {
        error.message = "the backup is damaged or incomplete: \(error.message)"
        error.hint = "nothing was written; use another copy of the backup, or another backup"
      } else if error.code == .wrongPassphrase {
        error.hint = "give the passphrase that you gave to `kist backup`; nothing was written"
      }
      throw error
    }
  }

  /// Makes a store from a backup, and returns its id and the number of its credentials.
  ///
  /// Throws `conflict` if a store exists. No error leaves a store, unless its outcome is `unknown`.
  ///
  /// - Parameters:
  ///   - new: the path of the new store, and its key source.
  ///   - willSwitch: called with the id of the store that is about to get its final name.
  ///   - reading: called with the progress of reading the backup, before anything is created.
  ///   - copying: called with the progress of copying.
  package static func restore(
    _ backup: BackupFile, to new: Options,
    willSwitch: (_ id: String) throws(StorageError) -> Void = { _ in },
    reading: (_ done: Int, _ of: Int) -> Void = { _, _ in },
    copying: (_ done: Int, _ of: Int) -> Void = { _, _ in }
  ) throws(StorageError) -> (id: String, count: Int) {
    // This fails before the user is asked for a passphrase.
    if try exists(new.path) { try OwnerLock(beside: new.path, orRefuseWith: .busy).release() }
    try refuseStore(at: new.path)
    try new.checkFirstPassphrase()
    let original = try read(backup, report: reading)
    try prepareDirectory(of: new.path)
    let owner = try OwnerLock(beside: new.path, orRefuseWith: .busy)
    defer { owner.release() }
    try refuseStore(at: new.path)
    try refuseLog(of: new.path)
    let id = randomBytes(StoreFormat.storeIDSize)
    let copy = UnfinishedStore(path: new.path + ".new")
    do throws(StorageError) {
      try flushNames(of: directory(of: new.path))
      try copy.write(copyOf: original, new, id: id, openedBy: [new.keySource], report: copying)
      try willSwitch(hexadecimal(id))
      try copy.rename(to: new.path)
    } catch {
      guard error.outcome != .unknown else { throw error }
      try? copy.discard()
      throw error.withOutcome(.unchanged)
    }
    do throws(StorageError) { try flushDirectory(of: new.path) } catch {
      throw error.withOutcome(.unknown)
    }
    return (hexadecimal(id), original.count)
  }
}
