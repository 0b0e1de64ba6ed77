import Foundation
import GRDB
import KistCore
import Testing

extension Attack {
  static let onRows: [Attack] =
    [
      Attack("the first row removed", .damaged) { _, database in
        try database.execute(
          sql: "DELETE FROM credential WHERE key_tag = (SELECT key_tag FROM credential LIMIT 1)")
      },
      Attack("every row removed", .damaged, sql: "DELETE FROM credential"),
      Attack("an old row put back in place of the new one", .stale) { scene, database in
        let replaced = try scene.present.newestRow(but: 1)
        let old = try #require(try scene.older.rows().first { $0[2] == replaced[2] })
        try database.put(old)
      },
      Attack("a deleted row put back", .damaged) { scene, database in
        let tags = Set(try scene.present.rows().map { $0[2] })
        try database.put(try #require(try scene.older.rows().first { !tags.contains($0[2]) }))
      },
      Attack("all rows of an older copy put back", .stale) { scene, database in
        try database.execute(sql: "DELETE FROM credential")
        for row in try scene.older.rows() { try database.put(row) }
      },
      Attack("a row of another store in place of one", .damaged) { scene, database in
        let row = try scene.other.newestRow()
        let place = try scene.present.newestRow()
        try database.put(Array(place[..<3]) + Array(row[3...]))
      },
      Attack("all rows of another store added", .damaged) { scene, database in
        for row in try scene.other.rows() { try database.put(row) }
      },
      Attack("a row with another tag", .damaged) { scene, database in
        var row = try scene.present.newestRow()
        row[2] = Data(repeating: 7, count: 16).databaseValue
        try database.put(row)
      },
      Attack("a row moved to another service", .damaged) { scene, database in
        var row = try scene.present.newestRow()
        try database.execute(sql: "DELETE FROM credential WHERE key_tag = ?", arguments: [row[2]])
        row[1] = Data(repeating: 7, count: 16).databaseValue
        try database.put(row)
      },
      Attack("a row copied to another of its addresses", .damaged) { scene, database in
        var row = try scene.present.newestRow()
        row[0] = (Int64.fromDatabaseValue(row[0])! + 1).databaseValue
        try database.put(row)
      },
      Attack("a tag made short", .damaged) { _, database in
        try database.execute(sql: "UPDATE credential SET key_tag = substr(key_tag, 1, 15)")
      },
      Attack("a tag made long", .damaged) { _, database in
        try database.execute(
          sql: "UPDATE credential SET service_tag = CAST(service_tag || x'00' AS BLOB)")
      },
    ]
    + [false, true].map { keepsRow in
      Attack("rows of other names at all its addresses\(keepsRow ? " but the last" : "")", .damaged)
      {
        scene, database in
        let row = try scene.present.newestRow()
        try database.execute(sql: "DELETE FROM credential WHERE key_tag = ?", arguments: [row[2]])
        let first = Int64.fromDatabaseValue(row[0])! & ~63
        for number in first..<first + 64 {
          let isOther = !keepsRow || number < first + 63
          let tag = isOther ? Data(repeating: UInt8(number & 63), count: 16).databaseValue : row[2]
          try database.put([number.databaseValue, row[1], tag] + Array(row[3...]))
        }
      }
    }
    // Which columns of one row, or of an older one at the same place, are put into another.
    + [["metadata", "secret", "sequence"], ["metadata", "secret"], ["metadata"], ["secret"]].map {
      columns in
      Attack("\(columns.joined(separator: ", ")) of two rows swapped", .damaged) {
        scene, database in
        let rows = try scene.present.rows()
        try database.swap(columns, of: rows[0], rows[1])
        try database.swap(columns, of: rows[1], rows[0])
      }
    }
    + ["metadata", "secret", "sequence"].map { column in
      Attack("the \(column) of an older copy", .damaged) { scene, database in
        let row = try scene.present.newestRow(but: 1)
        let old = try #require(try scene.older.rows().first { $0[2] == row[2] })
        try database.swap([column], of: row, old)
      }
    }
    + ["address + 64", "address - 64", "-address", "address << 1", "sequence"].map { address in
      Attack("an address that is \(address)", .damaged) { _, database in
        try database.execute(
          sql: "UPDATE credential SET address = \(address) WHERE sequence = 2")
      }
    } + [
      Attack(
        "another of its addresses", .unaffected,
        sql: "UPDATE credential SET address = address + 5 WHERE sequence = 2")
    ]
    + ["sequence + 1", "sequence - 1", "-sequence", "0", "\(Int64.max)"].map { sequence in
      Attack("a sequence that is \(sequence)", .damaged) { _, database in
        try database.execute(sql: "UPDATE credential SET sequence = \(sequence)")
      }
    }
    + ["metadata", "secret"].flatMap { column in
      [
        "x''", "substr(\(column), 1, length(\(column)) - 1)", "substr(\(column), 2)",
        "CAST(\(column) || x'00' AS BLOB)", "zeroblob(length(\(column)))", "zeroblob(39)",
        "zeroblob(100000)",
      ].map { value in
        Attack("a \(column) that is \(value)", .damaged) { _, database in
          try database.execute(
            sql: "UPDATE credential SET \(column) = \(value) WHERE sequence = 2")
        }
      }
    }
}

extension Database {
  private static let columns = [
    "address", "service_tag", "key_tag", "sequence", "metadata", "secret",
  ]

  /// Puts some columns of one row into another.
  fileprivate func swap(
    _ columns: [String], of row: Specimen.StoredRow, _ other: Specimen.StoredRow
  ) throws {
    for column in columns {
      let index = Self.columns.firstIndex(of: column)!
      try execute(
        sql: "UPDATE credential SET \(column) = ? WHERE key_tag = ?",
        arguments: [other[index], row[2]])
    }
  }
}
