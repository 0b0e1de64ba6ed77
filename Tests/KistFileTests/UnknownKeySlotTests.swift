import GRDB
import KistCore
import KistFile
import KistSodium
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A key slot of an unknown kind` {
  let store = try! TestStore()
  let passphrase = Secret(utf8: "correct horse battery staple")

  @Test(arguments: [0, 1, 96, 4076])
  func `is listed, kept as it is, and removed by its number`(size: Int) async throws {
    try await store.fill([.sample()])
    try store.addSlot(7, [UInt8](repeating: 5, count: size))
    let body = try store.slotBodies()[7]
    let opened = try await store.open()
    #expect(
      try await opened.keySlots.list() == [
        KeySlotSummary(number: 1, kind: .keyFile), KeySlotSummary(number: 7, kind: .unknown),
      ])
    let status = try await opened.access.status()
    #expect(status.unlocksWith == .keyFile && status.reopensAtRestart)
    #expect(
      status.keyProtection.hasSuffix(
        "; a key slot of a kind that this kistd does not know may also open the store"))
    try await opened.credentials.save(.sample(label: "new"))
    #expect(try await opened.access.status().integrity == .ok)
    let slots = try await opened.keySlots.add(
      KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    #expect(slots.map(\.number).sorted() == [1, 2, 7])
    await opened.close()
    #expect(try store.slotBodies()[7] == body)
    #expect(try await store.isOpened(by: .passphrase(passphrase)))
    let again = try await store.open()
    let left = try await again.keySlots.remove(KeySlotRemoval(number: 7, currentKey: store.key()))
    #expect(left.map(\.number) == [1, 2])
    #expect(!(try await again.access.status().keyProtection.contains("does not know")))
    await again.close()
    #expect(try Set(store.slotBodies().keys) == [1, 2])
  }

  @Test(arguments: [0, 0xffff_ffff as UInt32])
  func `is of any kind but those that are known`(kind: UInt32) async throws {
    try await store.fill([.sample()])
    try store.addSlot(2, kind: kind, [1, 2, 3])
    let opened = try await store.open()
    #expect(try await opened.keySlots.list().map(\.kind) == [.keyFile, .unknown])
    await opened.close()
  }

  @Test(arguments: ["a", "an unknown one"])
  func `leaves the last known one where it is`(word: String) async throws {
    try await store.fill([.sample()])
    try store.addSlot(2, Array(word.utf8))
    let opened = try await store.open()
    let before = try await opened.keySlots.list()
    let error = await expect(.badRequest) {
      try await opened.keySlots.remove(KeySlotRemoval(number: 1, currentKey: store.key()))
    }
    #expect(error?.message == "this slot is the only one of a kind that this kistd knows")
    #expect(try await opened.keySlots.list() == before)
    await opened.close()
  }

  @Test(arguments: [
    "UPDATE slot SET body = CAST(substr(body, 1, 30) || x'00' || substr(body, 32) AS BLOB)",
    "UPDATE slot SET body = CAST(substr(body, 2) AS BLOB)", "UPDATE slot SET body = x''",
    "UPDATE slot SET number = 8",
  ])
  func `that was damaged is corrupt`(statement: String) async throws {
    try await store.fill([.sample()])
    try store.addSlot(7, Array("the content of a slot of a later version".utf8))
    try store.meddle { try $0.execute(sql: statement + " WHERE number = 7") }
    try await store.expectRefusedUntouched(.corrupt) { try await store.open() }
    #expect(try store.examine().faults.map(\.part) == [.slot])
  }

  @Test(arguments: [4077, 1 << 20])
  func `that is too long is corrupt`(size: Int) async throws {
    try await store.fill([.sample()])
    try store.addSlot(7, [UInt8](repeating: 5, count: size))
    try await store.expectRefusedUntouched(.corrupt) { try await store.open() }
  }

  @Test func `that the header does not cover is corrupt`() async throws {
    try await store.fill([.sample()])
    try store.addSlot(7, [1, 2, 3], toHeader: false)
    try await store.expectRefusedUntouched(.corrupt) { try await store.open() }
  }

  @Test func `counts among the 64 that a store may have`() async throws {
    try await store.fill([.sample()])
    for number in 2...64 { try store.addSlot(UInt32(number), [UInt8(number)]) }
    let opened = try await store.open()
    let error = await expect(.tooLarge) {
      try await opened.keySlots.add(
        KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    }
    #expect(error?.message == "a store has at most 64 key slots")
    _ = try await opened.keySlots.remove(KeySlotRemoval(number: 9, currentKey: store.key()))
    #expect(
      try await opened.keySlots.add(
        KeySlotAddition(passphrase: passphrase, currentKey: store.key())
      ).count == 64)
    #expect(
      try await opened.access.status().keyProtection.contains(
        "; 62 key slots of kinds that this kistd does not know"))
    await opened.close()
    try store.addSlot(65, [1])
    try await store.expectRefusedUntouched(.corrupt) { try await store.open() }
  }

  @Test func `opens nothing, so a store with only such slots stays locked`() async throws {
    try await store.fill([.sample()])
    try store.addSlot(7, [1, 2, 3])
    try store.changeSlots { database, _ in
      try database.execute(sql: "DELETE FROM slot WHERE number = 1")
    }
    let opened = try await store.open()
    let status = try await opened.access.status()
    #expect(status.isLocked && status.unlocksWith == .unknown && !status.reopensAtRestart)
    #expect(status.keyProtection == "a key slot of a kind that this kistd does not know")
    for request in [nil, passphrase] {
      let error = await expect(.locked) { try await opened.access.unlock(request) }
      #expect(error?.hint == "update kistd")
    }
    await opened.close()
    let found = try store.examine()
    #expect(found.faults.isEmpty && found.locked?.code == .locked && found.unknownSlots == [7])
  }

  @Test func `is named by fsck, and a new key or a backup drops it only on request`()
    async throws
  {
    try await store.fill([.sample()])
    try store.addSlot(7, [1, 2, 3])
    let found = try store.examine()
    #expect(found.faults.isEmpty && found.isComplete && found.unknownSlots == [7])

    let opened = try await store.open()
    try await opened.backups.fetch(under: passphrase, to: store.directory("backup"))
    await opened.close()
    #expect(
      try EncryptedFile.verify(
        .init(path: store.directory("backup"), passphrase: { passphrase })) == 1)

    let before = try store.bytes()
    var rekeying = EncryptedFile.Rekeying(
      .init(
        path: store.path, keySource: .keyFile(path: store.keyPath), passphraseCost: .least),
      keyFile: store.keyPath)
    for newPassphrase in [nil, passphrase] {
      rekeying.newPassphrase = newPassphrase
      let error = await expect(.badRequest) { try EncryptedFile.rekey(rekeying) }
      #expect(error?.message.contains("1 of a kind that this kistd does not know") == true)
      #expect(error?.hint?.contains("--drop-others") == true)
      #expect(try store.bytes() == before)
    }
    rekeying.dropsOthers = true
    #expect(try EncryptedFile.rekey(rekeying).dropped == 1)
    #expect(try store.slotBodies().count == 2)
  }
}
