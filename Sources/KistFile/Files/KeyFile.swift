internal import KistCore
internal import KistSodium

/// A key file: exactly 32 raw bytes that only this user can read.
enum KeyFile {
  /// Reads the key; `nil` when there is no such file.
  ///
  /// Throws `denied` when others could have read it.
  static func read(_ path: String) throws(StorageError) -> GuardedKey? {
    guard let file = try PrivateFile.open(path, "key file") else { return nil }
    guard file.size == GuardedKey.size else {
      throw file.refusal(
        "has \(file.size) bytes instead of \(GuardedKey.size)",
        hint: "put the right one back; kistd makes one only together with a new store")
    }
    return try GuardedKey { output throws(StorageError) in
      try file.descriptor.read(into: &output, path: path)
      if !output.isFull {
        throw file.refusal("was cut while it was read", hint: "try again")
      }
    }
  }

  /// Creates a file with a random key; the file is complete and on disk when this returns.
  ///
  /// A file that another process created meanwhile is never replaced, because a store may need it.
  /// Its key is then returned.
  static func create(_ path: String) throws(StorageError) -> GuardedKey {
    try prepareDirectory(of: path)
    let key = try GuardedKey.random()
    let isOurs = try key.withBytes { bytes throws(StorageError) in
      try writeWhole(bytes, to: path, replacing: false)
    }
    if isOurs { return key }
    guard let existing = try read(path) else {
      throw StorageError(
        .denied, "the key file \(path) was removed while it was read", hint: "try again")
    }
    return existing
  }
}
