import Foundation
import GRDB
import KistCore
import KistFile
import KistTesting
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

@Suite struct `The integrity of a store` {
  let store = try! TestStore()

  @Test(
    arguments: FlippedBit.all("store", "id", "header") + FlippedBit.all("slot", "number", "body"))
  func `a flipped bit in the header or a slot is corrupt at once`(bit: FlippedBit) async throws {
    try await store.fill(threeCredentials)
    try store.meddle(bit.flip)
    let before = try store.bytes()
    await expect(.corrupt) { try await store.open() }
    #expect(try store.bytes() == before)
  }

  @Test(
    arguments: FlippedBit.all("credential", "service_tag", "key_tag", "sequence")
      + ["metadata", "secret"].map { FlippedBit(table: "credential", column: $0, place: .last) })
  func `a flipped bit that moves a row or breaks its tag makes the store corrupt`(bit: FlippedBit)
    async throws
  {
    try await store.fill(threeCredentials)
    try store.meddle(bit.flip)
    try await expectDamage(readable: 2)
  }

  @Test(
    arguments: FlippedBit.all("credential", "metadata", "secret").filter { $0.place != .last })
  func `a flipped bit in what a row says makes that row corrupt, and it stays`(bit: FlippedBit)
    async throws
  {
    try await store.fill(threeCredentials)
    try store.meddle(bit.flip)
    let opened = try await store.open()
    let before = try store.bytes()
    // All rows are there, so what is absent is truly absent.
    await expect(.notFound) { try await opened.credentials.load(.init(service: "absent")) }
    var damaged: [CredentialKey] = []
    for credential in threeCredentials {
      do throws(StorageError) {
        let secret = try await opened.credentials.load(credential.key).secret
        #expect(secret == credential.secret)
      } catch {
        #expect(error.code == .corrupt)
        damaged.append(credential.key)
      }
    }
    let key = try #require(damaged.first)
    #expect(damaged.count == 1)
    for change in [
      { try await opened.credentials.save(.sample(key)) as Any },
      { try await opened.credentials.delete(key) as Any },
    ] { #expect(await expect(.corrupt, from: change)?.outcome == .unchanged) }
    if bit.column == "metadata" {
      await expect(.corrupt) { try await opened.credentials.find(CredentialQuery()) }
    }
    await opened.close()
    #expect(try store.bytes() == before)
  }

  @Test func `two rows swapped are corrupt`() async throws {
    try await store.fill(threeCredentials)
    try store.meddle { database in
      let rows = try Row.fetchAll(database, sql: "SELECT * FROM credential LIMIT 2")
      for (row, other) in [(rows[0], rows[1]), (rows[1], rows[0])] {
        try database.execute(
          sql: "UPDATE credential SET metadata = ?, secret = ?, sequence = ? WHERE key_tag = ?",
          arguments: [other["metadata"], other["secret"], other["sequence"], row["key_tag"]])
      }
    }
    try await expectDamage(readable: 1)
  }

  @Test func `a tag whose last byte was moved into the next is corrupt, not absent`() async throws {
    try await store.fill(threeCredentials)
    try store.meddle {
      try $0.execute(
        sql: """
          UPDATE credential SET service_tag = substr(service_tag, 1, 15), \
          key_tag = CAST(substr(service_tag, 16) || key_tag AS BLOB) WHERE sequence = 3
          """)
    }
    try await expectDamage(readable: 2)
  }

  @Test(arguments: [0, 1])
  func `two rows that are out of order in their page are corrupt, not absent`(first: Int)
    async throws
  {
    try await store.fill(threeCredentials)
    try meddleWithPage { page in
      let pointer = 8 + 2 * first
      page.swapAt(pointer, pointer + 2)
      page.swapAt(pointer + 1, pointer + 3)
    }
    try await expectDamage(readable: nil)
  }

  @Test func `a tag that became text, which sorts before all blobs, is corrupt, not absent`()
    async throws
  {
    try await store.fill(threeCredentials)
    try meddleWithPage { page in
      let cell = Int(page[8]) << 8 + Int(page[9])
      // After the sizes of the payload (two bytes) and of the record's header: a blob of 16 bytes.
      #expect(page[cell + 3] == 44)
      page[cell + 3] = 45
    }
    try await expectDamage(readable: 2)
  }

  @Test func `a removed row is corrupt, not absent`() async throws {
    try await store.fill(threeCredentials)
    try store.meddle { try $0.execute(sql: "DELETE FROM credential WHERE sequence = 1") }
    let opened = try await store.open()
    await expect(.corrupt) { try await opened.credentials.load(.sample) }
    let error = await expect(.corrupt) { try await opened.credentials.find(CredentialQuery()) }
    #expect(error?.hint?.contains("`kist load`") == true, "what is whole is still loaded")
    await opened.close()
    try await expectDamage(readable: 2)
  }

  @Test func `a row removed while the store is open is corrupt from the next unlock on`()
    async throws
  {
    try await store.fill(threeCredentials)
    let whole = try store.bytes()
    try store.meddle { try $0.execute(sql: "DELETE FROM credential WHERE sequence = 1") }
    let damaged = try store.bytes()
    try whole.write(to: URL(filePath: store.path))
    let opened = try await store.open()
    // Says that the first check is over.
    await expect(.notFound) { try await opened.credentials.load(.init(service: "absent")) }
    let file = try FileHandle(forWritingTo: URL(filePath: store.path))
    try file.write(contentsOf: damaged)
    try file.close()
    _ = try await opened.access.lock()
    _ = try await opened.access.unlock(nil)
    await expect(.corrupt) { try await opened.credentials.load(.init(service: "absent")) }
    #expect(try await opened.access.status().integrity == .failed)
    await opened.close()
  }

  @Test func `an old row put back is corrupt`() async throws {
    try await store.fill([.sample(secret: "old")])
    var old: Row?
    try store.meddle { old = try Row.fetchOne($0, sql: "SELECT * FROM credential") }
    try await store.fill([.sample(secret: "new")])
    try store.meddle { database in
      try database.execute(sql: "DELETE FROM credential")
      try insert(try #require(old), in: database)
    }
    try await expectDamage(readable: nil)
  }

  @Test func `an old header put back is corrupt, also for changes before the check ends`()
    async throws
  {
    try await store.fill([])
    var header: Data?
    try store.meddle { header = try Data.fetchOne($0, sql: "SELECT header FROM store") }
    let opened = try await store.open()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<500 {
        let credential = NewCredential.sample(.init(service: "service \(number)"))
        group.addTask { _ = try await opened.credentials.save(credential) }
      }
      try await group.waitForAll()
    }
    await opened.close()
    try store.meddle {
      try $0.execute(sql: "UPDATE store SET header = ?", arguments: [header])
    }
    let key = CredentialKey(service: "service 0")
    for _ in 0..<10 {
      for change in [
        { try await $0.delete(key) as Any }, { try await $0.save(.sample(key)) as Any },
      ]
        as [(UserStorage) async throws -> Any]
      {
        let opened = try await store.open()
        await expect(.corrupt) { try await change(opened.credentials) }
        await opened.close()
      }
    }
  }

  @Test func `a row of another store is corrupt`() async throws {
    try await store.fill(threeCredentials)
    let other = try TestStore()
    try await other.fill([.sample(secret: "of the other store")])
    var foreign: Row?
    try other.meddle { foreign = try Row.fetchOne($0, sql: "SELECT * FROM credential") }
    try store.meddle { try insert(try #require(foreign), in: $0) }
    try await expectDamage(readable: 3)
  }

  @Test func `a row that fails to authenticate is not overwritten`() async throws {
    try await store.fill([.sample()])
    try store.meddle { try $0.execute(sql: "UPDATE credential SET sequence = sequence + 1") }
    var before: Row?
    try store.meddle { before = try Row.fetchOne($0, sql: "SELECT * FROM credential") }
    let opened = try await store.open()
    // Whether or not the check has come to its end by now.
    let error = await expect(.corrupt) { try await opened.credentials.save(.sample(secret: "new")) }
    #expect(error?.outcome == .unchanged)
    await opened.close()
    var after: Row?
    try store.meddle { after = try Row.fetchOne($0, sql: "SELECT * FROM credential") }
    #expect(after == before)
  }

  @Test func `a slot that was added is corrupt`() async throws {
    try await store.fill(threeCredentials)
    let other = try TestStore()
    try await other.fill([])
    var slot: Data?
    try other.meddle { slot = try Data.fetchOne($0, sql: "SELECT body FROM slot") }
    try store.meddle {
      try $0.execute(sql: "INSERT INTO slot VALUES (2, ?)", arguments: [slot])
    }
    await expect(.corrupt) { try await store.open() }
  }

  @Test func `an intact store is known to be whole before anything is said to be absent`()
    async throws
  {
    try await store.fill(threeCredentials)
    let opened = try await store.open()
    await expect(.notFound) { try await opened.credentials.load(.init(service: "absent")) }
    #expect(try await opened.access.status().integrity == .ok)
    await opened.close()
  }

  /// Expects of a damaged store that it opens, still gives what is whole, and changes nothing.
  private func expectDamage(
    readable: Int?, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let opened = try await store.open()
    let before = try store.bytes()
    let absent = CredentialKey(service: "absent")
    await expect(
      .corrupt, from: { try await opened.credentials.load(absent) }, sourceLocation: sourceLocation)
    #expect(
      try await opened.access.status().integrity == .failed, sourceLocation: sourceLocation)
    for request in [
      { try await opened.credentials.save(.sample()) as Any },
      { try await opened.credentials.save(.sample(absent), if: .ifAbsent) as Any },
      { try await opened.credentials.delete(absent) as Any },
      { try await opened.credentials.find(CredentialQuery()) as Any },
    ] { await expect(.corrupt, from: request, sourceLocation: sourceLocation) }
    var loaded = 0
    for credential in threeCredentials {
      do {
        let secret = try await opened.credentials.load(credential.key).secret
        if readable != nil { #expect(secret == credential.secret, sourceLocation: sourceLocation) }
        loaded += 1
      } catch { #expect(error.code == .corrupt, sourceLocation: sourceLocation) }
    }
    if let readable { #expect(loaded == readable, sourceLocation: sourceLocation) }
    await opened.close()
    #expect(try store.bytes() == before, sourceLocation: sourceLocation)
  }

  /// Changes the page in which all rows lie (https://sqlite.org/fileformat2.html#b_tree_pages).
  private func meddleWithPage(_ body: (inout [UInt8]) -> Void) throws {
    var number = 0
    try store.meddle { database in
      let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'credential'"
      number = try #require(try Int.fetchOne(database, sql: sql))
    }
    var bytes = try store.bytes()
    let range = (number - 1) * 4096..<number * 4096
    var page = [UInt8](bytes[range])
    #expect(page[0] == 0x0A && page[4] == 3)
    body(&page)
    bytes.replaceSubrange(range, with: page)
    try bytes.write(to: URL(filePath: store.path))
  }

  private func insert(_ row: Row, in database: Database) throws {
    try database.execute(
      sql: "INSERT OR REPLACE INTO credential VALUES (?, ?, ?, ?, ?)",
      arguments: StatementArguments(row.databaseValues))
  }
}
