internal import Glibc
internal import KistCore
internal import KistSodium
internal import KistVault

/// The replacement of a store's key file together with the store.
///
/// Two files cannot be renamed in one step. So the new store first finds the new key under the name
/// `next`. When this key replaces the old one, the old key keeps the name `old`, for other stores.
struct KeyFileChange {
  let path: String
  /// The path of the new key until it replaces the old one.
  let next: String
  /// The path of the old key afterwards.
  let old: String

  /// Makes a change of the key file at a path, for the store with this id.
  init(of path: String, for storeID: [UInt8]) { self.init(of: path, for: hexadecimal(storeID)) }

  fileprivate init(of path: String, for storeID: String) {
    self.path = path
    next = "\(path).next-\(storeID)"
    old = "\(path).before-\(storeID)"
  }

  /// Gives the old key its additional name.
  func keepOld() throws(StorageError) {
    guard unsafe link(path, old) == 0 else { throw .system("keeping the old key as", path: old) }
    try flushDirectory(of: old)
  }

  /// Moves the new key into place, after the new store replaced the old one.
  func finish() throws(StorageError) {
    if try exists(path) {
      if try !exists(old) { try keepOld() }
      // Otherwise the only copy of a key would be lost.
      guard try isSameKey(path, old) else {
        throw StorageError(
          .conflict, "the key file \(path) is not the one that `kistd rekey` began to replace",
          hint: "the store opens with \(next): keep both")
      }
    }
    try rename(next, to: path)
  }

  /// Removes the files of a change whose new store never replaced the old one.
  ///
  /// The new key opens nothing then. The name `old` is removed only if another file has that key.
  func discard() throws(StorageError) {
    let isClean = removeUnfinished(of: next)
    unsafe unlink(next)
    let others = keptKeys(of: path).filter { $0 != old } + [path]
    if others.contains(where: { (try? isSameKey($0, old)) == true }) { unsafe unlink(old) }
    guard isClean, try !exists(next) else { throw .system("removing", path: next) }
    try flushDirectory(of: path)
  }

  /// Returns the path of a key that an earlier change kept, if it opens a store.
  static func keptKey(
    of path: String, opening slots: [KeySlot], storeID: [UInt8]
  ) -> String? {
    keptKeys(of: path).first { kept in
      guard let key = try? KeyFile.read(kept) else { return false }
      return (try? openSlot(with: key, among: slots, storeID: storeID)) != nil
    }
  }

  /// Finishes an interrupted change, where the new key opens the store but is not in place.
  static func finish(
    _ source: EncryptedFile.KeySource, _ slots: [KeySlot], storeID: [UInt8]
  ) throws(StorageError) {
    guard case .keyFile(let path) = source else { return }
    let change = KeyFileChange(of: path, for: storeID)
    guard let key = try KeyFile.read(change.next),
      try openSlot(with: key, among: slots, storeID: storeID) != nil
    else { return }
    try change.finish()
  }
}

/// Returns the paths of the copies that interrupted rekeys left beside a store.
func rekeys(of store: String) -> [String] { siblings(of: store, suffixed: ".new-", by: isID) }

/// Removes the files of interrupted rekeys that never replaced the store, which has these slots.
///
/// Throws where one of the files cannot be kist's own.
///
/// - Parameter keyFile: the key file, if it opened the store; otherwise keys beside it are kept.
func discardRekeys(
  of store: String, _ slots: [KeySlot], keyFile: String?
) throws(StorageError) {
  for path in rekeys(of: store) {
    let copy = UnfinishedStore(path: path)
    try copy.check()
    // The copy is removed last: its name has its id, and shows that it never replaced the store.
    if let keyFile {
      let id = String(path.suffix(2 * StoreFormat.storeIDSize))
      if (try? KeyFileChange(of: keyFile, for: id).discard()) != nil { try copy.discard() }
    } else if slots.hasKeyFileSlot {
      try? copy.begin()
    } else {
      try copy.discard()
    }
  }
  // SQLite may have failed to remove the log of a copy that replaced the store.
  for log in siblings(of: store, suffixed: ".new-", by: isLogOfRekey) {
    let copy = UnfinishedStore(path: String(log.dropLast(4)))
    if try !exists(copy.path) { try copy.discard() }
  }
  if let keyFile { removeUnfinished(of: keyFile) }
}

/// Whether a suffix names the log of a store with an id, or the log's index.
private func isLogOfRekey(_ word: Substring) -> Bool {
  ["-wal", "-shm"].contains(word.suffix(4)) && isID(word.dropLast(4))
}

/// Returns the paths of the keys that earlier changes of a key file kept.
private func keptKeys(of path: String) -> [String] {
  siblings(of: path, suffixed: ".before-", by: isID)
}

/// Returns whether a suffix is the id of a store.
private func isID(_ word: Substring) -> Bool {
  word.utf8.count == 2 * StoreFormat.storeIDSize && word.allSatisfy("0123456789abcdef".contains)
}

private func isSameKey(_ first: String, _ second: String) throws(StorageError) -> Bool {
  guard let one = try KeyFile.read(first), let other = try KeyFile.read(second) else {
    return false
  }
  return one.withBytes { one in
    other.withBytes { other in one.indices.allSatisfy { one[$0] == other[$0] } }
  }
}
