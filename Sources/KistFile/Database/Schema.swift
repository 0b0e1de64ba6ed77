internal import Glibc
internal import KistCore
internal import KistVault

/// The first bytes of a database file (https://sqlite.org/fileformat2.html#the_database_header).
///
/// They are read before SQLite opens the file, so that a foreign or too new file is not touched.
/// Closing a descriptor drops SQLite's locks, so this process must not have the database open.
enum FileHeader {
  private static let size = 100
  private static let magic = Array("SQLite format 3\0".utf8)

  /// Throws unless the file is a store of a version that this program reads.
  ///
  /// - Parameter settingMode: whether to remove the permissions of other users.
  static func check(_ path: String, settingMode: Bool = true) throws(StorageError) {
    let descriptor = try open(path)
    let bytes = try descriptor.bytes(upTo: size, path: path)
    // SQLite would remove what is in the place of the log, or write through a hard link.
    if let log = try existingStatus(ofLink: path + "-wal") {
      try checkAlone(log, "log", path + "-wal")
    }
    // SQLite would write the contents of the journal over the store.
    if try exists(path + "-journal") {
      throw .corrupt("there is a rollback journal beside the store, which kist does not make")
    }
    guard bytes.count == size else { throw .corrupt("the store \(path) is truncated") }
    guard bytes.starts(with: magic) else {
      throw .corrupt("the file \(path) is not an SQLite database")
    }
    // The format versions for writing and reading; with others, SQLite would not write to the log.
    guard bytes[18] == 2, bytes[19] == 2 else {
      throw .corrupt("the store \(path) is not in WAL mode, which kist always uses")
    }
    try check(
      applicationID: bytes.span.bigEndian(at: 68), version: bytes.span.bigEndian(at: 60), of: path)
    try descriptor.checkLog(of: path)
    // A copy or a restored backup may have more permissions.
    if settingMode, try descriptor.status(path: path).st_mode & 0o077 != 0 {
      try descriptor.setMode(0o600, path: path)
    }
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
        hint: "use a newer kistd; if there is none, the store is damaged; it was not changed")
    }
    guard version == StoreFormat.version else {
      throw .corrupt("the store \(path) has an invalid version")
    }
  }

  private static func open(_ path: String) throws(StorageError) -> Descriptor {
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
    try checkAlone(status, "store", path)
    return descriptor
  }
}

extension Database {
  /// Checks the first page as `FileHeader.check` does; that in the log may differ from the file's.
  func checkVersion(of path: String) throws(StorageError) {
    try FileHeader.check(
      applicationID: UInt32(truncatingIfNeeded: try number("PRAGMA application_id") ?? 0),
      version: UInt32(truncatingIfNeeded: try number("PRAGMA user_version") ?? 0), of: path)
  }
}

/// The tables of a store; a file with others was not written by kist.
enum Schema {
  /// The tables ordered by name, with the exact text that SQLite stores.
  private static let tables = [
    (
      "credential",
      """
      CREATE TABLE credential (address INTEGER PRIMARY KEY, service_tag BLOB NOT NULL, \
      key_tag BLOB NOT NULL, sequence INTEGER NOT NULL, metadata BLOB NOT NULL, \
      secret BLOB NOT NULL) STRICT
      """
    ),
    ("slot", "CREATE TABLE slot (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT"),
    ("store", "CREATE TABLE store (id BLOB NOT NULL, header BLOB NOT NULL) STRICT"),
  ]

  static func create(in database: Database) throws(StorageError) {
    for (_, sql) in tables { try database.execute(sql) }
    try database.execute("PRAGMA application_id = \(StoreFormat.applicationID)")
    try database.execute("PRAGMA user_version = \(StoreFormat.version)")
  }

  /// Throws `corrupt` unless the tables are exact.
  static func check(_ database: Database) throws(StorageError) {
    guard try isExact(in: database) else {
      throw .corrupt("the store has tables, views or triggers that kist does not make")
    }
  }

  /// Returns whether the database has exactly these tables, byte for byte.
  static func isExact(in database: Database) throws(StorageError) -> Bool {
    try objects(in: database) == expected
  }

  /// Returns whether the database has each of these tables; it may have others.
  static func hasTables(in database: Database) throws(StorageError) -> Bool {
    let objects = try objects(in: database)
    return expected.allSatisfy(objects.contains)
  }

  private static var expected: [[String]] {
    tables.map { name, sql in ["table", name, name, sql] }
  }

  /// Returns the objects in a database by name, up to 1001, because more do not matter.
  private static func objects(in database: Database) throws(StorageError) -> [[String]] {
    try database.rows(
      "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name LIMIT 1001"
    ) { columns in (0..<4).map(columns.text) }
  }
}

extension Database {
  /// Throws where the database, with its log, is not a store of this version with the right id.
  ///
  /// Returns its id.
  ///
  /// - Parameter id: the right id; `nil` for any.
  func checkStore(at path: String, id: String?) throws(StorageError) -> String {
    try checkVersion(of: path)
    try Schema.check(self)
    let found = hexadecimal(try storeRow().id)
    guard id == nil || id == found else { throw .anotherStore }
    return found
  }
}
