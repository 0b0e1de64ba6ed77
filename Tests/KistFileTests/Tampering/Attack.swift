import Foundation
import GRDB
import KistCore
import KistTesting
import Testing

/// What somebody without the key does to a store at rest, and how it may end.
struct Attack: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let ends: Set<Trial.End>
  let apply: @Sendable (Scene) throws -> Specimen

  /// - Parameter ends: what may become of the store.
  init(
    _ name: String, _ ends: Trial.End..., apply: @escaping @Sendable (Scene) throws -> Specimen
  ) {
    testDescription = name
    self.ends = Set(ends)
    self.apply = apply
  }

  /// An attack by SQL.
  init(
    _ name: String, _ ends: Trial.End..., sql: @escaping @Sendable (Scene, Database) throws -> Void
  ) {
    testDescription = name
    self.ends = Set(ends)
    apply = { scene in try scene.present.after { try sql(scene, $0) } }
  }

  /// An attack by statements of SQL.
  init(_ name: String, _ ends: Trial.End..., sql: String) {
    testDescription = name
    self.ends = Set(ends)
    apply = { scene in try scene.present.after { try $0.execute(sql: sql) } }
  }
}

extension Trial.End {
  static let corrupt = Trial.End.refused(.corrupt)
}

/// A store, what it was before, and another one that the same key opens.
struct Scene: Sendable {
  let present: Specimen
  let older: Specimen
  let other: Specimen

  static func make() async throws -> Scene {
    let store = try TestStore(in: "/dev/shm")
    let deleted = NewCredential.sample(.init(service: "deleted since"))
    try await store.fill(Specimen.few + [deleted])
    let older = try await Specimen(of: store)
    let opened = try await store.open()
    try await opened.credentials.save(.sample(secret: "replaced since"))
    try await opened.credentials.delete(deleted.key)
    try await opened.credentials.save(.sample(.init(service: "made since")))
    await opened.close()
    let present = try await Specimen(of: store)

    let other = try TestStore(in: "/dev/shm")
    try await other.fill([])
    try FileManager.default.removeItem(atPath: other.path)
    try present.key.write(to: URL(filePath: other.keyPath))
    try await other.fill(Specimen.few.map { .sample($0.key, secret: "of the other store") })
    return Scene(present: present, older: older, other: try await Specimen(of: other))
  }
}

extension Specimen {
  /// A row as it lies in the file.
  typealias StoredRow = [DatabaseValue]

  /// The rows of a table, in its order.
  func rows(of table: String = "credential") throws -> [StoredRow] {
    try read { database in
      try GRDB.Row.fetchAll(database, sql: "SELECT * FROM \(table)").map {
        Array($0.databaseValues)
      }
    }
  }

  /// The row that is of the newest change, or of one so many before it.
  func newestRow(but skipped: Int = 0) throws -> StoredRow {
    try rows().sorted { ($0[3].storage.value as! Int64) > ($1[3].storage.value as! Int64) }[skipped]
  }

  func value(_ sql: String) throws -> DatabaseValue {
    try read { try #require(try DatabaseValue.fetchOne($0, sql: sql)) }
  }
}

extension Database {
  /// Puts a row into the table, in place of one at its address.
  func put(_ row: Specimen.StoredRow) throws {
    try execute(
      sql: "INSERT OR REPLACE INTO credential VALUES (?, ?, ?, ?, ?, ?)",
      arguments: StatementArguments(row))
  }
}
