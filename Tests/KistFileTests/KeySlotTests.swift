import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Key slots` {
  let store = try! TestStore()
  let passphrase = Secret(utf8: "correct horse battery staple")
  let another = Secret(utf8: "a new one")

  /// Whether the store that is closed opens with a passphrase.
  private func opens(with passphrase: Secret) async throws -> Bool {
    let opened = try await store.open(EncryptedFile.KeySource.none)
    let isOpen: Bool
    do { isOpen = try await !opened.access.unlock(passphrase).isLocked } catch {
      #expect(error.code == .wrongPassphrase)
      isOpen = false
    }
    await opened.close()
    return isOpen
  }

  @Test func `are listed by number, with the cost of trying a passphrase`() async throws {
    try await store.fill([.sample()], .passphrase(passphrase))
    let opened = try await store.open(.passphrase(passphrase))
    #expect(
      try await opened.keySlots.list() == [
        KeySlotSummary(number: 1, kind: .passphrase, passes: 1, kibibytes: 8)
      ])
    _ = try await opened.access.lock()
    await expect(.locked) { try await opened.keySlots.list() }
    await expect(.locked) {
      try await opened.keySlots.add(KeySlotAddition(passphrase: another, current: passphrase))
    }
    await opened.close()
  }

  @Test func `a passphrase that is added opens the store beside its key file`() async throws {
    try await store.fill([.sample()])
    let opened = try await store.open()
    let slots = try await opened.keySlots.add(
      KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    #expect(slots.map(\.kind) == [.keyFile, .passphrase])
    #expect(try await opened.keySlots.list() == slots)
    #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await opened.close()
    #expect(try await opens(with: passphrase))
    let again = try await store.open()
    #expect(try await again.access.status().isLocked == false)
    #expect(try await again.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await again.close()
  }

  @Test(arguments: [nil, "the key of another store, of 32B"])
  func `a passphrase beside a key file opens the store when that is gone or another`(
    key: String?
  ) async throws {
    try await store.fill([.sample()])
    var opened = try await store.open()
    _ = try await opened.keySlots.add(
      KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    #expect(try await opened.access.status().unlocksWith == .keyFile)
    await opened.close()
    let original = try Data(contentsOf: URL(filePath: store.keyPath))
    try FileManager.default.removeItem(atPath: store.keyPath)
    try key.map { try writePrivate(Data($0.utf8)) }
    opened = try await store.open()
    let status = try await opened.access.status()
    #expect(status.isLocked && status.unlocksWith == .passphrase && !status.reopensAtRestart)
    let error = await expect(.locked) { try await opened.credentials.load(.sample) }
    #expect(error?.hint?.contains("give `kist unlock` the passphrase") == true)
    #expect(try await opened.access.unlock(passphrase).isLocked == false)
    #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    let protection = try await opened.access.status().keyProtection
    #expect(protection.hasPrefix("a key file, or a passphrase: "))
    let other = Secret(utf8: "the key of another store, of 32B")
    await expect(.denied) {
      try await opened.keySlots.add(KeySlotAddition(passphrase: another, currentKey: other))
    }
    await expect(.denied) {
      try await opened.keySlots.remove(KeySlotRemoval(number: 2, currentKey: other))
    }
    try writePrivate(original)
    #expect(try await opened.access.status().unlocksWith == .keyFile)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: store.keyPath)
    let mended = try await opened.access.status()
    #expect(mended.unlocksWith == .keyFile && !mended.reopensAtRestart)
    await opened.close()
  }

  private func writePrivate(_ key: Data) throws {
    try key.write(to: URL(filePath: store.keyPath))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: store.keyPath)
  }

  @Test func `a passphrase that is replaced no longer opens the store`() async throws {
    try await store.fill([.sample()], .passphrase(passphrase))
    let opened = try await store.open(.passphrase(passphrase))
    let slots = try await opened.keySlots.add(
      KeySlotAddition(passphrase: another, current: passphrase, replacesCurrent: true))
    #expect(slots.map(\.number) == [2])
    await expect(.wrongPassphrase) { try await opened.access.unlock(passphrase) }
    await store.attempts.holdBack(.wrongPassphrase)
    #expect(try await opened.access.unlock(another).isLocked == false)
    await opened.close()
    #expect(try await !opens(with: passphrase))
    await store.attempts.holdBack(.wrongPassphrase)
    #expect(try await opens(with: another))
  }

  @Test func `without the current passphrase, or with a wrong one, nothing is changed`()
    async throws
  {
    try await store.fill([], .passphrase(passphrase))
    let opened = try await store.open(.passphrase(passphrase))
    let before = try await opened.keySlots.list()
    for (current, code) in [(nil, StorageError.Code.badRequest), (another, .wrongPassphrase)] {
      for replaces in [false, true] {
        let error = await expect(code) {
          try await opened.keySlots.add(
            KeySlotAddition(passphrase: another, current: current, replacesCurrent: replaces))
        }
        #expect(error?.outcome == .unchanged)
        await store.attempts.holdBack(.wrongPassphrase)
      }
    }
    await expect(.badRequest) {
      try await opened.keySlots.add(
        KeySlotAddition(passphrase: Secret(utf8: ""), current: passphrase))
    }
    #expect(try await opened.keySlots.list() == before)
    await opened.close()
    #expect(try await opens(with: passphrase))
  }

  @Test func `the last one is not removed`() async throws {
    try await store.fill([.sample()])
    let opened = try await store.open()
    let error = await expect(.badRequest) {
      try await opened.keySlots.remove(KeySlotRemoval(number: 1))
    }
    #expect(error?.message == "this is the only key slot")
    await expect(.badRequest) { try await opened.keySlots.remove(KeySlotRemoval(number: 2)) }
    await opened.close()
  }

  @Test func `one is removed only when another one was shown to open the store`() async throws {
    try await store.fill([.sample()])
    let opened = try await store.open()
    _ = try await opened.keySlots.add(
      KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    await expect(.badRequest) { try await opened.keySlots.remove(KeySlotRemoval(number: 1)) }
    await expect(.denied) {
      try await opened.keySlots.remove(KeySlotRemoval(number: 1, currentKey: store.key()))
    }
    await expect(.wrongPassphrase) {
      try await opened.keySlots.remove(KeySlotRemoval(number: 1, current: another))
    }
    await store.attempts.holdBack(.wrongPassphrase)
    let slots = try await opened.keySlots.remove(KeySlotRemoval(number: 1, current: passphrase))
    #expect(slots.map(\.number) == [2])
    #expect(try await opened.access.status().unlocksWith == .passphrase)
    #expect(try await opened.access.status().reopensAtRestart == false)
    await opened.close()
    let again = try await store.open()
    #expect(try await again.access.status().isLocked, "its key file opens it no more")
    _ = try await again.access.unlock(passphrase)
    #expect(try await again.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await again.close()
  }

  @Test func `none is added or removed for a client that shows no passphrase and no key`()
    async throws
  {
    let opened = try await store.open()
    let key = try store.key()
    let before = try await opened.keySlots.add(
      KeySlotAddition(passphrase: passphrase, currentKey: key))
    for (key, code) in [
      (nil, StorageError.Code.badRequest), (Secret(utf8: "short"), .badRequest),
      (Secret(utf8: "the key of another store, of 32B"), .denied),
    ] {
      let added = await expect(code) {
        try await opened.keySlots.add(KeySlotAddition(passphrase: another, currentKey: key))
      }
      let removed = await expect(code) {
        try await opened.keySlots.remove(KeySlotRemoval(number: 2, currentKey: key))
      }
      #expect(added?.outcome == .unchanged && removed?.outcome == .unchanged)
    }
    await expect(.badRequest) {
      try await opened.keySlots.remove(
        KeySlotRemoval(number: 2, current: passphrase, currentKey: key))
    }
    #expect(try await opened.keySlots.list() == before)
    #expect(
      try await opened.keySlots.remove(KeySlotRemoval(number: 2, currentKey: key)).count == 1)
    await opened.close()
  }

  @Test func `a passphrase of fewer than 8 bytes is added only where that is allowed`() async throws
  {
    let opened = try await store.open()
    let key = try store.key()
    let short = Secret(utf8: "1234567")
    let error = await expect(.badRequest) {
      try await opened.keySlots.add(KeySlotAddition(passphrase: short, currentKey: key))
    }
    #expect(error?.hint?.contains("--weak") == true && error?.outcome == .unchanged)
    await expect(.badRequest) { try await opened.backups.make(.begin(passphrase: short)) }
    _ = try await opened.backups.make(.begin(passphrase: short, allowsWeak: true))
    _ = try await opened.keySlots.add(
      KeySlotAddition(passphrase: short, currentKey: key, allowsWeak: true))
    await opened.close()
    #expect(try await opens(with: short))
    let new = try TestStore()
    await expect(.badRequest) { try await new.open(.passphrase(short)) }
    #expect(try new.names() == ["credentials.db.lock"])
  }

  @Test func `a ninth passphrase is refused`() async throws {
    try await store.fill([])
    let opened = try await store.open()
    let key = try store.key()
    for number in 1...8 {
      _ = try await opened.keySlots.add(
        KeySlotAddition(passphrase: Secret(utf8: "number \(number)"), currentKey: key))
    }
    await expect(.tooLarge) {
      try await opened.keySlots.add(KeySlotAddition(passphrase: another, currentKey: key))
    }
    let slots = try await opened.keySlots.add(
      KeySlotAddition(passphrase: another, current: Secret(utf8: "number 3"), replacesCurrent: true)
    )
    #expect(slots.map(\.number) == [1, 2, 3, 5, 6, 7, 8, 9, 10])
    await opened.close()
    #expect(try await opens(with: another))
  }

  @Test func `changes of them and saves at once all count`() async throws {
    let opened = try await store.open()
    await withThrowingTaskGroup { group in
      group.addTask {
        _ = try await opened.keySlots.add(
          KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
      }
      for number in 0..<50 {
        group.addTask {
          try await opened.credentials.save(
            .sample(CredentialKey(service: "service", account: String(number))))
        }
      }
    }
    await opened.close()
    let again = try await store.open()
    #expect(try await again.access.status().count == 50)
    #expect(try await again.keySlots.list().count == 2)
    await again.close()
  }
}
