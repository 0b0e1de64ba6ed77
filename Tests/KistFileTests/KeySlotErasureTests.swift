import Dispatch
import Foundation
import GRDB
import KistCore
import KistFile
import KistSodium
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A key slot that is removed` {
  let store = try! TestStore()
  let passphrase = Secret(utf8: "correct horse battery staple")

  @Test(arguments: [true, false])
  func `is in none of the store's files once that is answered`(isReplaced: Bool) async throws {
    try await store.fill([.sample()], .passphrase(passphrase))
    let slot = try bytesOfSlot()
    let opened = try await store.open(.passphrase(passphrase))
    // So that a snapshot is kept.
    _ = try await opened.credentials.load(.sample)
    #expect(try files().contains { $0.range(of: slot) != nil })
    let new = Secret(utf8: "a new one")
    if isReplaced {
      _ = try await opened.keySlots.add(
        KeySlotAddition(passphrase: new, current: passphrase, replacesCurrent: true))
    } else {
      _ = try await opened.keySlots.add(KeySlotAddition(passphrase: new, current: passphrase))
      _ = try await opened.keySlots.remove(KeySlotRemoval(number: 1, current: new))
    }
    #expect(try files().allSatisfy { $0.range(of: slot) == nil })
    try await opened.credentials.save(.sample(secret: "of later"))
    #expect(try files().allSatisfy { $0.range(of: slot) == nil })
    await opened.close()
    let again = try await store.open(.passphrase(new))
    #expect(try await again.credentials.load(.sample).secret == Secret(utf8: "of later"))
    await again.close()
  }

  @Test func `is overwritten even while the store is read for a backup`() async throws {
    try await store.fill(threeCredentials)
    let slot = try bytesOfSlot()
    let (opened, permits) = try await openInBackup()
    async let slots = opened.keySlots.remove(KeySlotRemoval(number: 1, current: passphrase))
    for _ in 0..<100 { permits.signal() }
    #expect(try await slots.map(\.number) == [2])
    #expect(try files().allSatisfy { $0.range(of: slot) == nil })
    await opened.close()
  }

  @Test func `is not reported as removed if the store is replaced before the slot is erased`()
    async throws
  {
    try await store.fill(threeCredentials)
    let copy = store.directory("copy")
    try FileManager.default.copyItem(atPath: store.path, toPath: copy)
    let (opened, permits) = try await openInBackup()
    let before = try files()[1]
    async let removal = expect(.unavailable) {
      try await opened.keySlots.remove(KeySlotRemoval(number: 1, current: passphrase))
    }
    // The change is in the log, which cannot be emptied during the backup.
    while try files()[1] == before { await Task.yield() }
    try #require(unsafe rename(copy, store.path) == 0)
    for _ in 0..<100 { permits.signal() }
    let error = await removal
    #expect(error?.message.contains("was replaced or removed") == true)
    #expect(error?.outcome == .unknown)
    await opened.close()
  }

  /// Opens a store of three credentials with a second slot, during a backup that needs permits.
  private func openInBackup() async throws -> (OpenStorage, DispatchSemaphore) {
    let first = try await store.open()
    _ = try await first.keySlots.add(
      KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    await first.close()

    let permits = DispatchSemaphore(value: 0)
    var options = EncryptedFile.Options(
      path: store.path, keySource: .keyFile(path: store.keyPath), passphraseCost: .least)
    options.backupPace.wait = .milliseconds(1)
    options.nonces = { count in
      // A copy asks for at most two at a time, and a change for more.
      if count <= 2 { permits.wait() }
      return randomBytes(count * SymmetricKey.nonceSize)
    }
    let opened = try await EncryptedFile.open(options)
    let id = try await opened.backups.make(.begin(passphrase: passphrase)).id
    // The slot of the backup may be sealed, and no credential.
    permits.signal()
    while try await opened.backups.make(.poll(id: id)) != .copied(0, of: 3, id: id) {}
    return (opened, permits)
  }

  /// What the only slot of the store that is closed has.
  private func bytesOfSlot() throws -> Data {
    var slot: Data?
    try store.meddle { slot = try Data.fetchOne($0, sql: "SELECT body FROM slot") }
    return try #require(slot)
  }

  /// The bytes of the database, and of its log, if there is one.
  private func files() throws -> [Data] {
    [try store.bytes(), (try? Data(contentsOf: URL(filePath: store.path + "-wal"))) ?? Data()]
  }
}
