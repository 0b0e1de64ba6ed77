import Foundation
import GRDB
import KistCore
import KistFile
import KistSodium
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A passphrase` {
  let store = try! TestStore()
  let passphrase = Secret(utf8: "correct horse battery staple")

  @Test func `opens the store that was made with it`() async throws {
    try await store.fill(threeCredentials, .passphrase(passphrase))
    #expect(!FileManager.default.fileExists(atPath: store.keyPath))
    let opened = try await store.open(.passphrase(passphrase))
    #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    #expect(try await opened.access.status().reopensAtRestart == false)
    await opened.close()
  }

  @Test func `that is wrong is wrongPassphrase, and another one can be tried`() async throws {
    try await store.fill([.sample()], .passphrase(passphrase))
    let wrong = Secret(utf8: "wrong")
    try await store.expectRefusedUntouched(.wrongPassphrase) {
      try await store.open(.passphrase(wrong))
    }
    let opened = try await store.open(EncryptedFile.KeySource.none)
    try await store.expectRefusedUntouched(.wrongPassphrase) {
      try await opened.access.unlock(wrong)
    }
    await store.attempts.holdBack(.wrongPassphrase)
    #expect(try await opened.access.unlock(passphrase).isLocked == false)
    #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await opened.close()
  }

  @Test func `that is empty or too long is refused`() async throws {
    await expect(.badRequest) { try await store.open(.passphrase(Secret(utf8: ""))) }
    let long = Secret(copying: [UInt8](repeating: 0x61, count: Limits.passphrase + 1))
    await expect(.tooLarge) { try await store.open(.passphrase(long)) }
  }

  @Test func `does not open a store that has none`() async throws {
    try await store.fill([.sample()])
    try await store.expectRefusedUntouched(.wrongPassphrase) {
      try await store.open(.passphrase(passphrase))
    }
  }

  @Test func `is needed where there is no other key`() async throws {
    let error = await expect(.unavailable) { try await store.open(EncryptedFile.KeySource.none) }
    #expect(error?.message.contains("no key to make one") == true)
    try await store.fill([.sample()], .passphrase(passphrase))
    let opened = try await store.open(EncryptedFile.KeySource.none)
    let status = try await opened.access.status()
    #expect(status.isLocked && status.count == nil && status.integrity == nil)
    await expect(.locked) { try await opened.access.unlock(nil) }
    await opened.close()
  }

  @Test(arguments: [
    KDFCost(passes: 3, kibibytes: 1 << 30), KDFCost(passes: 3, kibibytes: (1 << 20) + 1),
    KDFCost(passes: 17, kibibytes: 8), KDFCost(passes: .max, kibibytes: .max),
    KDFCost(passes: 0, kibibytes: 8), KDFCost(passes: 1, kibibytes: 7),
  ])
  func `whose slot asks for too much, such as 1 TiB, is corrupt before it is tried`(
    cost: KDFCost
  ) async throws {
    try await store.fill([.sample()], .passphrase(passphrase))
    try forgeSlots([cost])
    try await store.expectRefusedUntouched(.corrupt) {
      try await store.open(.passphrase(passphrase))
    }
  }

  @Test(arguments: [
    [KDFCost](repeating: .least, count: 9),
    [KDFCost](repeating: KDFCost(passes: 9, kibibytes: 1 << 20), count: 2),
  ])
  func `whose slots ask for too much together is corrupt before it is tried`(costs: [KDFCost])
    async throws
  {
    try await store.fill([.sample()], .passphrase(passphrase))
    try forgeSlots(costs)
    for key in [EncryptedFile.KeySource.passphrase(Secret(utf8: "wrong")), .none] {
      try await store.expectRefusedUntouched(.corrupt) { try await store.open(key) }
    }
  }

  @Test func `is tried in as many as 8 slots`() async throws {
    try await store.fill([.sample()], .passphrase(passphrase))
    try forgeSlots([KDFCost](repeating: .least, count: 8))
    await expect(.wrongPassphrase) {
      try await store.open(.passphrase(Secret(utf8: "wrong")))
    }
  }

  /// Puts slots in the place of the store's own whose checksums are right, as docs/file-format.md
  /// says how.
  private func forgeSlots(_ costs: [KDFCost]) throws {
    try store.meddle { database in
      let id = try #require(try Data.fetchOne(database, sql: "SELECT id FROM store"))
      var body = [UInt8](try #require(try Data.fetchOne(database, sql: "SELECT body FROM slot")))
      try database.execute(sql: "DELETE FROM slot")
      for (index, cost) in costs.enumerated() {
        let number = UInt32(index + 1)
        body.replaceSubrange(4..<8, with: littleEndian(cost.passes))
        body.replaceSubrange(8..<12, with: littleEndian(cost.kibibytes))
        let checked = [UInt8](id) + littleEndian(number) + body[..<100]
        body.replaceSubrange(100..., with: blake2b(checked.span, count: 16))
        try database.execute(
          sql: "INSERT INTO slot VALUES (?, ?)", arguments: [number, Data(body)])
      }
    }
  }
}
