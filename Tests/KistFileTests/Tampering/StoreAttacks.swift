import Foundation
import GRDB
import KistCore
import KistSodium
import Testing

extension Attack {
  static let onTheHeader: [Attack] = [
    Attack("the header of an older copy", .damaged) { scene, database in
      try database.execute(
        sql: "UPDATE store SET header = ?",
        arguments: [try scene.older.value("SELECT header FROM store")])
    },
    Attack("the header of another store", .corrupt) { scene, database in
      try database.execute(
        sql: "UPDATE store SET header = ?",
        arguments: [try scene.other.value("SELECT header FROM store")])
    },
    Attack("the id of another store", .corrupt) { scene, database in
      try database.execute(
        sql: "UPDATE store SET id = ?", arguments: [try scene.other.value("SELECT id FROM store")])
    },
    Attack("an empty header", .corrupt, sql: "UPDATE store SET header = x''"),
    Attack("a header of zeros", .corrupt, sql: "UPDATE store SET header = zeroblob(128)"),
    Attack("no header", .corrupt, sql: "DELETE FROM store"),
    Attack("a second header", .corrupt, sql: "INSERT INTO store SELECT * FROM store"),
    Attack("a longer id", .corrupt, sql: "UPDATE store SET id = CAST(id || x'00' AS BLOB)"),
    Attack("header, slots and id of another store", .damaged) { scene, database in
      try database.takeStore(of: scene.other)
    },
    Attack("header and rows of an older copy, slots of another store", .corrupt) {
      scene, database in
      try database.execute(
        sql: "UPDATE slot SET body = ?", arguments: [try scene.other.value("SELECT body FROM slot")]
      )
    },
  ]

  static let onSlots: [Attack] = [
    Attack("no slot", .corrupt, sql: "DELETE FROM slot"),
    Attack("a slot twice", .corrupt, sql: "INSERT INTO slot SELECT 2, body FROM slot"),
    Attack("a slot of another number", .corrupt, sql: "UPDATE slot SET number = 7"),
    Attack("a slot of a negative number", .corrupt, sql: "UPDATE slot SET number = -1"),
    Attack("an empty slot", .corrupt, sql: "UPDATE slot SET body = x''"),
    Attack(
      "65 slots", .corrupt,
      sql: """
        WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 66) \
        INSERT INTO slot SELECT i, body FROM n, slot
        """),
    // What follows is signed as anyone can sign it, without a key.
    Attack("a slot added, with a right checksum", .corrupt) { scene, database in
      var body = Data(try scene.present.value("SELECT body FROM slot").data)
      body[0] = 2
      body.replaceSubrange(4..<12, with: [1, 0, 0, 0, 8, 0, 0, 0])
      try database.putSlot(2, body, of: scene.present)
    },
    Attack("a master key that fails authentication, with a right checksum", .refusedAsLocked) {
      scene, database in
      var body = Data(try scene.present.value("SELECT body FROM slot").data)
      body[60] ^= 1
      try database.putSlot(1, body, of: scene.present)
    },
    Attack("a slot that was moved, with a right checksum", .refusedAsLocked) { scene, database in
      let body = Data(try scene.present.value("SELECT body FROM slot").data)
      try database.execute(sql: "DELETE FROM slot")
      try database.putSlot(2, body, of: scene.present)
    },
    Attack("a slot of an unknown kind added, with a right checksum", .corrupt) {
      scene, database in
      var body = Data(try scene.present.value("SELECT body FROM slot").data)
      body[0] = 3
      try database.putSlot(2, body, of: scene.present)
    },
    Attack("a slot that became one of an unknown kind", .refusedAsLocked) { scene, database in
      var body = Data(try scene.present.value("SELECT body FROM slot").data)
      body[0] = 3
      try database.putSlot(1, body, of: scene.present)
    },
    Attack("a slot for a key file with a cost, with a right checksum", .corrupt) {
      scene, database in
      var body = Data(try scene.present.value("SELECT body FROM slot").data)
      body[4] = 1
      try database.putSlot(1, body, of: scene.present)
    },
    Attack("a slot for a key file with a salt, with a right checksum", .corrupt) {
      scene, database in
      var body = Data(try scene.present.value("SELECT body FROM slot").data)
      body[27] = 1
      try database.putSlot(1, body, of: scene.present)
    },
    Attack("a slot for a key file that became one for a passphrase", .refusedAsLocked) {
      scene, database in
      var body = Data(try scene.present.value("SELECT body FROM slot").data)
      body[0] = 2
      body.replaceSubrange(4..<12, with: [1, 0, 0, 0, 8, 0, 0, 0])
      try database.putSlot(1, body, of: scene.present)
    },
  ]

  static let onTheSchema: [Attack] = [
    "CREATE TRIGGER t AFTER DELETE ON credential BEGIN DELETE FROM slot; END",
    "CREATE TRIGGER t BEFORE INSERT ON credential BEGIN SELECT RAISE(IGNORE); END",
    "CREATE VIEW v AS SELECT * FROM credential", "CREATE INDEX i ON credential (sequence)",
    "CREATE INDEX i ON credential (service_tag, key_tag, sequence, metadata, secret)",
    "CREATE TABLE more (x)", "CREATE VIRTUAL TABLE more USING fts5(x)", "ANALYZE",
    "CREATE TABLE more (x INTEGER PRIMARY KEY AUTOINCREMENT)",
    "ALTER TABLE slot ADD COLUMN x BLOB", "ALTER TABLE slot RENAME TO slots", "DROP TABLE slot",
    "DROP TABLE store", "DROP TABLE credential",
    "ALTER TABLE credential RENAME TO c; CREATE VIEW credential AS SELECT * FROM c",
    "ALTER TABLE credential RENAME COLUMN secret TO hidden",
    rewritten("sql = replace(sql, 'CREATE TABLE', 'create table')"),
    rewritten("sql = replace(sql, 'BLOB', 'TEXT')"),
    rewritten("sql = replace(sql, ' STRICT', '') WHERE name = 'credential'"),
    rewritten("sql = replace(sql, 'metadata BLOB', 'metadata BLOB DEFAULT x''00''')"),
    rewritten("sql = replace(sql, 'NOT NULL)', 'NOT NULL CHECK (length(body)))')"),
    rewritten("sql = sql || ' '"), rewritten("sql = NULL WHERE name = 'slot'"),
    rewritten("sql = 'nonsense' WHERE name = 'slot'"),
    rewritten("name = 'Slot' WHERE name = 'slot'"),
    rewritten("type = 'index' WHERE name = 'slot'"),
    rewritten("rootpage = 0 WHERE name = 'slot'"), rewritten("rootpage = 1 WHERE name = 'slot'"),
    rewritten("rootpage = 100000 WHERE name = 'credential'"),
    rewritten(
      "rootpage = (SELECT 5 + 4 - rootpage FROM sqlite_schema WHERE name = 'slot') "
        + "WHERE name = 'store'"),
  ].map { sql in Attack(sql, .corrupt, sql: sql) }

  /// Changes what SQLite keeps of the schema.
  private static func rewritten(_ change: String) -> String {
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET \(change)"
  }
}

extension Trial.End {
  /// Opened, and locked: the key is not the right one, as far as can be told.
  static let refusedAsLocked = Trial.End.refused(.locked)
}

extension DatabaseValue {
  fileprivate var data: Data { Data.fromDatabaseValue(self) ?? Data() }
}

extension Database {
  /// Puts a slot in, with the checksum that belongs to it.
  fileprivate func putSlot(_ number: UInt8, _ body: Data, of specimen: Specimen) throws {
    let id = try specimen.value("SELECT id FROM store").data
    let signed = [UInt8](id) + [number, 0, 0, 0] + [UInt8](body.prefix(100))
    let checksum = blake2b(signed.span, count: 16)
    try execute(
      sql: "INSERT OR REPLACE INTO slot VALUES (?, ?)",
      arguments: [Int(number), body.prefix(100) + Data(checksum)])
  }

  /// Takes all but the rows from another store.
  fileprivate func takeStore(of other: Specimen) throws {
    try execute(
      sql: "UPDATE store SET id = ?, header = ?; UPDATE slot SET body = ?",
      arguments: [
        try other.value("SELECT id FROM store"), try other.value("SELECT header FROM store"),
        try other.value("SELECT body FROM slot"),
      ])
  }
}
