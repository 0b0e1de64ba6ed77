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
  /// Whether it was this change that gave the old key that name.
  private var isOldKept = false

  init(of path: String, from oldID: [UInt8], to newID: [UInt8]) {
    self.path = path
    next = Self.next(of: path, for: newID)
    old = "\(path).old-\(hexadecimal(oldID))"
  }

  /// Where the key of a store is as long as a change of the key file is not finished.
  static func next(of path: String, for storeID: [UInt8]) -> String {
    "\(path).next-\(hexadecimal(storeID))"
  }

  /// Gives the old key the name that it keeps.
  mutating func keepOld() throws(StorageError) {
    if unsafe link(path, old) == 0 {
      isOldKept = true
      return try flushDirectory(of: old)
    }
    guard errno == EEXIST else { throw .system("keeping the old key as", path: old) }
    // It may have been there: one that was cut off gave it that name, or a copy was put back.
    guard try isSameKey(path, old) else {
      throw StorageError(
        .conflict, "there is another key at \(old), and it was left as it is",
        hint: "move it away, and try again", outcome: .unchanged)
    }
    let link = next + ".old"
    unsafe unlink(link)
    guard unsafe Glibc.link(path, link) == 0 else {
      throw .system("keeping the old key as", path: old)
    }
    // Of two names of one file, this leaves both.
    defer { unsafe unlink(link) }
    try rename(link, to: old)
  }

  /// Puts the new key into its place, once the store that it opens is in the place of the old one.
  func finish() throws(StorageError) { try Self.finish(path, next) }

  /// Takes back what was done, as long as the store was not replaced.
  func undo() {
    unsafe unlink(next)
    if isOldKept { unsafe unlink(old) }
  }

  /// Finishes a change that was cut off, where a new key that opens the store is not in its place.
  static func finish(
    _ source: EncryptedFile.KeySource, _ slots: [KeySlot], storeID: [UInt8]
  ) throws(StorageError) {
    guard case .keyFile(let path) = source else { return }
    let next = next(of: path, for: storeID)
    guard let key = try KeyFile.read(next),
      try openSlot(with: key, among: slots, storeID: storeID) != nil
    else { return }
    try finish(path, next)
  }

  private static func finish(_ path: String, _ next: String) throws(StorageError) {
    var status = stat()
    // What has no other name would be gone.
    if unsafe lstat(path, &status) == 0, status.st_nlink < 2 {
      throw StorageError(
        .conflict, "the key file \(path) is not the one that was to be replaced",
        hint: "the store opens with \(next): keep both")
    }
    try rename(next, to: path)
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
