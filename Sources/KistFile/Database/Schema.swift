internal import KistCore
internal import KistVault

/// The tables of a store.
///
/// A file with other tables was not written by kist.
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

  /// Creates the tables in an empty database.
  static func create(in database: Database) throws(StorageError) {
    for (_, sql) in tables { try database.execute(sql) }
    try database.execute("PRAGMA application_id = \(StoreFormat.applicationID)")
    try database.execute("PRAGMA user_version = \(StoreFormat.version)")
  }

  /// Throws `corrupt` unless the database has exactly these tables, byte for byte.
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

  /// Returns the objects in a database by name; stops after a few, because more do not matter.
  private static func objects(in database: Database) throws(StorageError) -> [[String]] {
    var objects: [[String]] = []
    try database.run("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name") {
      columns in
      objects.append((0..<4).map(columns.text))
      return objects.count > 1000 ? .enough : .more
    }
    return objects
  }
}
