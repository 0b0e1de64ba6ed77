internal import Glibc
internal import KistCore
internal import KistVault

/// The first bytes of a database file (https://sqlite.org/fileformat2.html#the_database_header).
///
/// They are read before SQLite opens the file, so that a foreign or too new file is not touched.
/// This process must have no database open on the file, because closing a descriptor of it drops
/// SQLite's locks.
enum FileHeader {
  private static let size = 100
  private static let magic = Array("SQLite format 3\0".utf8)

  /// Throws unless the file is a store of a version that this program reads.
  ///
  /// - Parameter settingMode: whether to remove the permissions of other users.
  static func check(_ path: String, settingMode: Bool = true) throws(StorageError) {
    let bytes = try read(path, settingMode: settingMode)
    // SQLite would write the contents of the journal over the store.
    if try exists(path + "-journal") {
      throw .corrupt("there is a rollback journal beside the store, which kist does not make")
    }
    guard bytes.count == size else { throw .corrupt("the store \(path) is cut short") }
    guard bytes.starts(with: magic) else {
      throw .corrupt("the file \(path) is not an SQLite database")
    }
    // The format versions for writing and reading must be those of a database with a log. With
    // others, SQLite would not write, or not to the log.
    guard bytes[18] == 2, bytes[19] == 2 else {
      throw .corrupt("the store \(path) is of another kind than kist makes")
    }
    try check(
      applicationID: bigEndian(bytes[68..<72]), version: bigEndian(bytes[60..<64]), of: path)
  }

  fileprivate static func check(
    applicationID: UInt32, version: UInt32, of path: String
  ) throws(StorageError) {
    guard applicationID == StoreFormat.applicationID else {
      throw .corrupt("the file \(path) is not a store of kist")
    }
    guard version <= StoreFormat.version else {
      throw StorageError(
        .unavailable,
        "the store is of format \(version); this kistd reads up to \(StoreFormat.version)",
        hint: "use a newer kistd; the store was not touched")
    }
    guard version == StoreFormat.version else {
      throw .corrupt("the store \(path) is of an impossible version")
    }
  }

  private static func read(_ path: String, settingMode: Bool) throws(StorageError) -> [UInt8] {
    let descriptor = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
    let status = try descriptor.status(path: path)
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw .corrupt("the store \(path) is not a regular file")
    }
    guard status.st_uid == geteuid() else {
      throw StorageError(
        .denied, "the store \(path) belongs to another user",
        hint: "`chown` it to the user of kistd")
    }
    // A copy or a restored backup may have more permissions.
    if settingMode, status.st_mode & 0o077 != 0 { try descriptor.setMode(0o600, path: path) }
    return try descriptor.bytes(upTo: size, path: path)
  }

  private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }
}

extension Database {
  /// Throws as `FileHeader.check` does, but reads the version through the log.
  ///
  /// The first page in the log may differ from the one in the file.
  func checkVersion(of path: String) throws(StorageError) {
    try FileHeader.check(
      applicationID: UInt32(truncatingIfNeeded: try number("PRAGMA application_id") ?? 0),
      version: UInt32(truncatingIfNeeded: try number("PRAGMA user_version") ?? 0), of: path)
  }
}
