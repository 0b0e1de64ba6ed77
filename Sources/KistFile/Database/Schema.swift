internal import KistCore

/// The tables of a store.
///
/// What a file has beside them, or instead of them, was not written by kist.
enum Schema {
  /// The tables by name, in the order of the names, with the very text that SQLite keeps of them.
  private static let tables = [
    (
      "credential",
      """
      CREATE TABLE credential (service_tag BLOB NOT NULL, key_tag BLOB NOT NULL, \
      sequence INTEGER NOT NULL, metadata BLOB NOT NULL, secret BLOB NOT NULL, \
      PRIMARY KEY (service_tag, key_tag)) STRICT, WITHOUT ROWID
      """
    ),
    ("slot", "CREATE TABLE slot (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT"),
    ("store", "CREATE TABLE store (id BLOB NOT NULL, header BLOB NOT NULL) STRICT"),
  ]

  /// Makes the tables in an empty database.
  static func create(in database: Database) throws(StorageError) {
    for (_, sql) in tables { try database.execute(sql) }
    try database.execute("PRAGMA application_id = \(StoreFormat.applicationID)")
    try database.execute("PRAGMA user_version = \(StoreFormat.version)")
  }

  /// Throws `corrupt` unless the database has exactly these tables, byte for byte.
  static func check(_ database: Database) throws(StorageError) {
    var found: [[String]] = []
    try database.run("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name") {
      columns in
      found.append((0..<4).map(columns.text))
      return found.count > tables.count ? .enough : .more
    }
    guard found == tables.map({ name, sql in ["table", name, name, sql] }) else {
      throw .corrupt("the store has tables, views or triggers that kist does not make")
    }
  }
}
