import Foundation
import GRDB
import KistCore
import KistSodium
import Testing

@testable import KistFile
@testable import KistVault

/// What is sealed in the row of a credential, as docs/file-format.md has it, without its padding.
struct RawRow: Equatable {
  var metadata: [UInt8]
  var secret: [UInt8]
}

/// A field as docs/file-format.md has it.
func field(_ tag: UInt32, _ value: String) -> [UInt8] {
  littleEndian(tag) + littleEndian(UInt32(value.utf8.count)) + Array(value.utf8)
}

func littleEndian(_ value: UInt32) -> [UInt8] {
  (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
}

/// What a later version of kist may put into a store; it must be closed, and have a key file.
extension TestStore {
  /// The row that was written last.
  func rawRow(openedBy keyPath: String? = nil) throws -> RawRow {
    var raw = RawRow(metadata: [], secret: [])
    try changeRawRow(openedBy: keyPath) { raw = $0 }
    return raw
  }

  /// Changes the row that was written last, and the header with it.
  func changeRawRow(openedBy keyPath: String? = nil, _ change: (inout RawRow) -> Void) throws {
    try meddle { database in
      let keys = try keys(of: database, openedBy: keyPath ?? self.keyPath)
      let row = try #require(
        try GRDB.Row.fetchOne(
          database, sql: "SELECT * FROM credential ORDER BY sequence DESC LIMIT 1"))
      let (service, key) = (Tag(blob(row["service_tag"]).span), Tag(blob(row["key_tag"]).span))
      let tag = RowTag(service: try #require(service), key: try #require(key))
      let identity = RowIdentity(tag: tag, sequence: row["sequence"])
      var sealed = SealedRow(
        identity: identity, metadata: blob(row["metadata"]), secret: blob(row["secret"]))
      var header = try keys.openHeader(
        blob(try Data.fetchOne(database, sql: "SELECT header FROM store")))
      header.sum -= keys.hash(of: sealed)
      var raw = RawRow(
        metadata: copy(try keys.metadataSeal.open(sealed.metadata.span, as: identity)),
        secret: copy(try keys.secretSeal.open(sealed.secret.span, as: identity)))
      change(&raw)
      sealed.metadata = keys.metadataSeal.seal(
        wiped(raw.metadata), as: identity, nonce: randomBytes(24))
      sealed.secret = keys.secretSeal.seal(
        wiped(raw.secret), as: identity, nonce: randomBytes(24))
      header.sum += keys.hash(of: sealed)
      try database.execute(
        sql: "UPDATE credential SET metadata = ?, secret = ? WHERE sequence = ?",
        arguments: [Data(sealed.metadata), Data(sealed.secret), Int64(identity.sequence)])
      try write(header, keys, into: database)
    }
  }

  /// Puts fields behind the metadata and the secret of the row that was written last, and says in its
  /// flags that they are there.
  func addFields(toMetadata: [UInt8] = [], toSecret: [UInt8] = []) throws {
    try changeRawRow { row in
      row.metadata[0] |= (toMetadata.isEmpty ? 0 : 4) | (toSecret.isEmpty ? 0 : 8)
      row.metadata += toMetadata
      if !toSecret.isEmpty { row.secret += toSecret + littleEndian(UInt32(toSecret.count)) }
    }
  }

  /// Adds a slot of any kind, with its checksum.
  func addSlot(_ number: UInt32, kind: UInt32 = 3, _ content: [UInt8], toHeader: Bool = true) throws
  {
    try changeSlots(andHeader: toHeader) { database, storeID in
      let body = littleEndian(kind) + content
      let checked = storeID + littleEndian(number) + body
      try database.execute(
        sql: "INSERT INTO slot VALUES (?, ?)",
        arguments: [number, Data(body + blake2b(checked.span, count: 16))])
    }
  }

  /// Changes the table of the slots, and their hash in the header.
  func changeSlots(
    andHeader: Bool = true, _ change: (GRDB.Database, _ storeID: [UInt8]) throws -> Void
  ) throws {
    try meddle { database in
      let keys = try keys(of: database, openedBy: keyPath)
      try change(database, keys.storeID)
      guard andHeader else { return }
      var slots: [UInt8] = []
      for row in try GRDB.Row.fetchAll(database, sql: "SELECT * FROM slot ORDER BY number") {
        slots += littleEndian(row["number"]) + blob(row["body"])
      }
      var header = try keys.openHeader(
        blob(try Data.fetchOne(database, sql: "SELECT header FROM store")))
      header.slots = blake2b(slots.span, count: 32)
      try write(header, keys, into: database)
    }
  }

  /// The bodies of the slots, by their numbers.
  func slotBodies() throws -> [UInt32: [UInt8]] {
    var bodies: [UInt32: [UInt8]] = [:]
    try meddle { database in
      for row in try GRDB.Row.fetchAll(database, sql: "SELECT * FROM slot") {
        bodies[row["number"]] = blob(row["body"])
      }
    }
    return bodies
  }

  private func keys(of database: GRDB.Database, openedBy keyPath: String) throws -> StoreKeys {
    let storeID = blob(try Data.fetchOne(database, sql: "SELECT id FROM store"))
    let slots = try GRDB.Row.fetchAll(database, sql: "SELECT * FROM slot").compactMap { row in
      try? KeySlot(decoding: blob(row["body"]), number: row["number"], storeID: storeID)
    }
    let master = try masterKey(from: .keyFile(path: keyPath), slots, storeID: storeID)
    return try StoreKeys(master: master, storeID: storeID)
  }

  private func write(_ header: Header, _ keys: StoreKeys, into database: GRDB.Database) throws {
    try database.execute(
      sql: "UPDATE store SET header = ?",
      arguments: [Data(keys.seal(header, nonce: randomBytes(24)))])
  }
}

private func blob(_ data: Data?) -> [UInt8] { [UInt8](data ?? Data()) }

private func wiped(_ bytes: [UInt8]) -> WipedBytes {
  var wiped = WipedBytes()
  wiped.append(bytes.span)
  return wiped
}

private func copy(_ bytes: consuming WipedBytes) -> [UInt8] {
  bytes.withBytes { bytes in bytes.indices.map { bytes[$0] } }
}
