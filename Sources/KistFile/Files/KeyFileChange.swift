internal import Glibc
internal import KistCore
internal import KistSodium

/// The change of a store's key file, together with the store, for a new one.
///
/// Files can be renamed only one after another. So the new key has a name of its own, by which the new
/// store finds it, until it is put into the place of the old one; and the old key keeps a name, for
/// copies of the store from before, and for other stores that were made with it.
struct KeyFileChange {
  /// The key file.
  let path: String
  /// Where the new key is until it is put in its place.
  let next: String
  /// Where the old key is from then on.
  let old: String

  /// Of the file at a path, for the store of an id.
  init(of path: String, for storeID: [UInt8]) {
    self.path = path
    next = "\(path).next-\(hexadecimal(storeID))"
    old = "\(path).before-\(hexadecimal(storeID))"
  }

  /// Gives the old key the name that it keeps.
  func keepOld() throws(StorageError) {
    guard unsafe link(path, old) == 0 else { throw .system("keeping the old key as", path: old) }
    try flushDirectory(of: old)
  }

  /// Puts the new key into its place, once the store that it opens is in the place of the old one.
  func finish() throws(StorageError) {
    if try exists(path) {
      if try !exists(old) { try keepOld() }
      // What is nowhere else would be gone.
      guard try isSameKey(path, old) else {
        throw StorageError(
          .conflict, "the key file \(path) is not the one that was to be replaced",
          hint: "the store opens with \(next): keep both")
      }
    }
    try rename(next, to: path)
  }

  /// Takes back what was done, as long as the store was not replaced.
  func undo() { for name in [next, old] { unsafe unlink(name) } }

  /// Finishes a change that was cut off, where a new key that opens the store is not in its place.
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

private func isSameKey(_ first: String, _ second: String) throws(StorageError) -> Bool {
  guard let one = try KeyFile.read(first), let other = try KeyFile.read(second) else {
    return false
  }
  return one.withBytes { one in
    other.withBytes { other in one.indices.allSatisfy { one[$0] == other[$0] } }
  }
}
