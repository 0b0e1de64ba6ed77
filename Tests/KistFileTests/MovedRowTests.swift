import Foundation
import GRDB
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A row that was moved or replaced` {
  let store = try! TestStore()

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
    try await store.expectDamage(readable: 1)
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
    try await store.expectDamage(readable: 2)
  }

  @Test(arguments: [0, 1])
  func `two rows that are out of order in their page are corrupt, not absent`(first: Int)
    async throws
  {
    try await store.fill(threeCredentials)
    try store.meddleWithPage { page in
      let pointer = 8 + 2 * first
      page.swapAt(pointer, pointer + 2)
      page.swapAt(pointer + 1, pointer + 3)
    }
    try await store.expectDamage(readable: nil)
  }

  @Test func `a tag that became text, which equals no blob, is corrupt, not absent`()
    async throws
  {
    try await store.fill(threeCredentials)
    try store.meddleWithPage { page in
      let cell = Int(page[8]) << 8 + Int(page[9])
      // After the size of the payload (two bytes) and the address: the size of the record's header,
      // nothing for the address, and two blobs of 16 bytes.
      let address = 2 + page[(cell + 2)...].prefix(8).prefix { $0 & 0x80 != 0 }.count + 1
      #expect(Array(page[(cell + address + 1)..<(cell + address + 4)]) == [0, 44, 44])
      page[cell + address + 3] = 45
    }
    try await store.expectDamage(readable: 2)
  }

  @Test func `an old row put back is corrupt`() async throws {
    try await store.fill([.sample(secret: "old")])
    var old: Row?
    try store.meddle { old = try Row.fetchOne($0, sql: "SELECT * FROM credential") }
    try await store.fill([.sample(secret: "new")])
    try store.meddle { database in
      try database.execute(sql: "DELETE FROM credential")
      try TestStore.insert(try #require(old), in: database)
    }
    try await store.expectDamage(readable: nil)
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

  /// A load reads only the first row at once, and others after the integrity check.
  @Test func `behind a row of another credential is corrupt`() async throws {
    try await store.fill(threeCredentials)
    try store.meddle { database in
      let sql = "SELECT address FROM credential WHERE sequence = 1"
      let first = try #require(try Int64.fetchOne(database, sql: sql))
      for (address, sequence) in [(first + 1, 1), (first, 2)] {
        try database.execute(
          sql: "UPDATE credential SET address = ? WHERE sequence = ?",
          arguments: [address, sequence])
      }
    }
    try await store.expectDamage(readable: 1)
  }

  @Test func `a row of another store is corrupt`() async throws {
    try await store.fill(threeCredentials)
    let other = try TestStore()
    try await other.fill([.sample(secret: "of the other store")])
    var foreign: Row?
    try other.meddle { foreign = try Row.fetchOne($0, sql: "SELECT * FROM credential") }
    try store.meddle { try TestStore.insert(try #require(foreign), in: $0) }
    try await store.expectDamage(readable: 3)
  }
}
