import Foundation
import GRDB
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The integrity of a store` {
  let store = try! TestStore()

  @Test(
    arguments: FlippedBit.all("store", "id", "header") + FlippedBit.all("slot", "number", "body"))
  func `a flipped bit in the header or a slot is corrupt at once`(bit: FlippedBit) async throws {
    try await store.fill(threeCredentials)
    try store.meddle(bit.flip)
    try await store.expectRefusedUntouched(.corrupt) { try await store.open() }
  }

  @Test(
    arguments: FlippedBit.all("credential", "key_tag", "sequence")
      + ["metadata", "secret"].map { FlippedBit(table: "credential", column: $0, place: .last) })
  func `a flipped bit that moves a row or breaks its tag makes the store corrupt`(bit: FlippedBit)
    async throws
  {
    try await store.fill(threeCredentials)
    try store.meddle(bit.flip)
    try await store.expectDamage(readable: 2)
  }

  @Test(arguments: FlippedBit.all("credential", "service_tag"))
  func `a flipped bit that only a find reads makes the store corrupt`(bit: FlippedBit)
    async throws
  {
    try await store.fill(threeCredentials)
    try store.meddle(bit.flip)
    try await store.expectDamage(readable: 3)
  }

  @Test(
    arguments: FlippedBit.all("credential", "metadata", "secret").filter { $0.place != .last })
  func `a flipped bit in the data of a row makes that row corrupt, and the row stays`(
    bit: FlippedBit
  )
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

  @Test func `a removed row is corrupt, not absent`() async throws {
    try await store.fill(threeCredentials)
    try store.meddle { try $0.execute(sql: "DELETE FROM credential WHERE sequence = 1") }
    let opened = try await store.open()
    await expect(.corrupt) { try await opened.credentials.load(.sample) }
    let error = await expect(.corrupt) { try await opened.credentials.find(CredentialQuery()) }
    #expect(error?.hint?.contains("`kist load`") == true, "what is whole is still loaded")
    await opened.close()
    try await store.expectDamage(readable: 2)
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
    try await store.expectRefusedUntouched(.corrupt) { try await store.open() }
  }

  @Test func `a store is known to be undamaged before a credential is reported as absent`()
    async throws
  {
    try await store.fill(threeCredentials)
    let opened = try await store.open()
    await expect(.notFound) { try await opened.credentials.load(.init(service: "absent")) }
    #expect(try await opened.access.status().integrity == .ok)
    await opened.close()
  }

}
