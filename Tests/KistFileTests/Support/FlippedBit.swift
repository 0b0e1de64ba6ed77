import Foundation
import GRDB
import Testing

/// A column of the store, and which of its bits is flipped.
struct FlippedBit: Sendable, CustomTestStringConvertible {
  enum Place: CaseIterable { case first, middle, last }

  let table: String
  let column: String
  let place: Place

  var testDescription: String { "\(table).\(column), \(place) byte" }

  /// Flips it in the first row of the table.
  func flip(in database: Database) throws {
    let row = try #require(try Row.fetchOne(database, sql: "SELECT * FROM \(table) LIMIT 1"))
    let value: DatabaseValue = row[column]
    let flipped: any DatabaseValueConvertible
    switch value.storage {
    case .int64(let number): flipped = number ^ 1
    case .blob(var bytes):
      let offset = [.first: 0, .middle: bytes.count / 2, .last: bytes.count - 1][place]!
      bytes[offset] ^= 0x10
      flipped = bytes
    default: throw DatabaseError(message: "a column of another type")
    }
    let place = table == "credential" ? "key_tag" : column
    try database.execute(
      sql: "UPDATE \(table) SET \(column) = ? WHERE \(place) = ?",
      arguments: [flipped, row[place] as DatabaseValue])
  }

  static func all(_ table: String, _ columns: String...) -> [FlippedBit] {
    columns.flatMap { column in
      Place.allCases.map { FlippedBit(table: table, column: column, place: $0) }
    }
  }
}
