import Foundation
import GRDB
import KistCore
import KistFile
import KistSodium
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A store that is given a new key` {
  let store = try! TestStore()
  let old = try! TestStore()
  let passphrase = Secret(utf8: "correct horse battery staple")
  let another = Secret(utf8: "a new one")

  @Test func `has every field of each credential, and new revisions, id and key file`()
    async throws
  {
    let opened = try await store.openWithAllThatCanBeSaid()
    let originals = try await opened.credentials.findAll()
    await opened.close()
    let oldKey = try Data(contentsOf: URL(filePath: store.keyPath))
    try copyToOld()

    let rekeyed = try rekey(.keyFile(path: store.keyPath))
    #expect(rekeyed.count == 2 && rekeyed.dropped == 0 && !rekeyed.hasPassphrase)
    #expect(rekeyed.id != opened.id)
    let newKey = try Data(contentsOf: URL(filePath: store.keyPath))
    #expect(newKey != oldKey && newKey.count == 32)
    #expect(try mode(of: store.keyPath) == 0o600)
    let kept = try #require(rekeyed.oldKeyFile)
    #expect(kept == "\(store.keyPath).before-\(rekeyed.id)")
    #expect(try Data(contentsOf: URL(filePath: kept)) == oldKey)
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])

    let new = try await store.open()
    #expect(new.id == rekeyed.id)
    let copies = try await new.credentials.findAll()
    #expect(copies.sortedWithoutRevisions == originals.sortedWithoutRevisions)
    #expect(Set(copies.map(\.revision)).isDisjoint(with: originals.map(\.revision)))
    #expect(try await new.credentials.load(.sample).secret == NewCredential.sample().secret)
    try await new.credentials.save(.sample(.init(service: "one more")))
    #expect(try await new.access.status().integrity == .ok)
    await new.close()

    // The old key opens the copy from before, and no longer the store; the new one only that.
    #expect(try await store.isOpened(by: .keyFile(path: kept)) == false)
    #expect(try await old.isOpened(by: .keyFile(path: kept)))
    #expect(try await old.isOpened(by: .keyFile(path: store.keyPath)) == false)
    let copy = try await old.open(.keyFile(path: store.keyPath))
    let error = await expect(.locked) { try await copy.credentials.findAll() }
    #expect(error?.hint?.contains("`--key-file \(kept)`") == true)
  }

  @Test func `opens with the passphrase that it had, or with a new one, a copy with the old one`()
    async throws
  {
    try await store.fill(threeCredentials, .passphrase(passphrase))
    try copyToOld()
    let same = try rekey(.passphrase(passphrase))
    #expect(same.hasPassphrase && same.oldKeyFile == nil && same.count == 3)
    #expect(try await store.isOpened(by: .passphrase(passphrase)))
    let new = try rekey(.passphrase(passphrase), newPassphrase: another)
    #expect(new.hasPassphrase && new.dropped == 0)
    #expect(try await !store.isOpened(by: .passphrase(passphrase)))
    #expect(try await store.isOpened(by: .passphrase(another)))
    #expect(try await old.isOpened(by: .passphrase(passphrase)))
    #expect(!FileManager.default.fileExists(atPath: store.keyPath))
  }

  @Test func `opens with key file and passphrase, of which either is given for it`() async throws {
    try await store.fill(threeCredentials)
    #expect(try rekey(.keyFile(path: store.keyPath), newPassphrase: passphrase).hasPassphrase)
    for source in [EncryptedFile.KeySource.passphrase(passphrase), .keyFile(path: store.keyPath)] {
      #expect(try await store.isOpened(by: source))
    }
    // Opened by the one, the other one goes along.
    #expect(try rekey(.passphrase(passphrase)).oldKeyFile != nil)
    #expect(try await store.isOpened(by: .keyFile(path: store.keyPath)))
    #expect(try rekey(.keyFile(path: store.keyPath), newPassphrase: another).dropped == 0)
    #expect(try await store.isOpened(by: .passphrase(another)))
    #expect(try await !store.isOpened(by: .passphrase(passphrase)))
  }

  @Test func `loses a key slot only on request`() async throws {
    try await store.fill(threeCredentials)
    let opened = try await store.open()
    for passphrase in [passphrase, another] {
      _ = try await opened.keySlots.add(
        KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    }
    await opened.close()
    let before = try snapshot()
    let error = await expect(.badRequest) { try rekey(.keyFile(path: store.keyPath)) }
    #expect(error?.message.hasPrefix("2 of the key slots") == true && error?.outcome == .unchanged)
    await expect(.badRequest) { try rekey(.passphrase(passphrase)) }
    await expect(.badRequest) { try rekey(.keyFile(path: store.keyPath), newPassphrase: another) }
    #expect(try snapshot() == before)
    #expect(try rekey(.passphrase(passphrase), dropsOthers: true).dropped == 1)
    #expect(try await store.isOpened(by: .keyFile(path: store.keyPath)))
    #expect(try await !store.isOpened(by: .passphrase(another)))
    #expect(try rekey(.keyFile(path: store.keyPath), dropsOthers: true).dropped == 1)
    #expect(try await !store.isOpened(by: .passphrase(passphrase)))
  }

  @Test func `without its key, with a wrong one, or an empty new one, is not changed`()
    async throws
  {
    try await store.fill(threeCredentials, .passphrase(passphrase))
    let before = try snapshot()
    await expect(.wrongPassphrase) { try rekey(.passphrase(another)) }
    await expect(.locked) { try rekey(.keyFile(path: store.keyPath)) }
    await expect(.locked) { try rekey(.none) }
    await expect(.badRequest) {
      try rekey(.passphrase(passphrase), newPassphrase: Secret(utf8: ""))
    }
    #expect(try snapshot() == before)
  }

  @Test func `must not be in use`() async throws {
    try await store.fill(threeCredentials)
    let opened = try await store.open()
    let error = await expect(.busy) { try rekey(.keyFile(path: store.keyPath)) }
    #expect(error?.message.contains("pid \(getpid())") == true)
    #expect(error?.hint?.contains("`kill \(getpid())`") == true)
    await opened.close()
    await expect(.notFound) {
      try EncryptedFile.rekey(
        .init(.init(path: store.directory("none/credentials.db"), keySource: .none)))
    }
  }

  @Test(arguments: [
    "UPDATE credential SET secret = zeroblob(104) WHERE sequence = 1",
    "UPDATE credential SET metadata = zeroblob(104) WHERE sequence = 1",
    "DELETE FROM credential WHERE sequence = 2",
    "UPDATE credential SET address = address + 64 WHERE sequence = 3",
    "UPDATE store SET header = zeroblob(128)", "CREATE TABLE another (column)",
  ])
  func `is not one that is damaged`(statement: String) async throws {
    try await store.fill(threeCredentials)
    try store.meddle { try $0.execute(sql: statement) }
    let before = try snapshot()
    let error = await expect(.corrupt) { try rekey(.keyFile(path: store.keyPath)) }
    #expect(error?.hint?.contains("`kistd fsck`") == true)
    #expect(try snapshot() == before)
  }

  @Test func `has the changes in a log that a crash left`() async throws {
    try await store.fill([.sample()])
    let opened = try await store.open()
    try await opened.credentials.save(.sample(.init(service: "in the log")))
    try copyToOld()
    await opened.close()
    #expect(try old.names().contains("credentials.db-wal"))
    try FileManager.default.copyItem(atPath: store.keyPath, toPath: old.keyPath)
    let rekeyed = try EncryptedFile.rekey(
      .init(.init(path: old.path, keySource: .keyFile(path: old.keyPath)), keyFile: old.keyPath))
    #expect(rekeyed.count == 2)
    #expect(try old.names() == ["credentials.db", "credentials.db.lock"])
    #expect(try await old.isOpened(by: .keyFile(path: old.keyPath)))
  }

  @Test func `that fails before the new store is in place changes nothing`() async throws {
    try await store.fill(threeCredentials)
    let before = try snapshot()
    let error = await expect(.full) {
      try rekey(
        .keyFile(path: store.keyPath),
        willSwitch: { _, _ throws(StorageError) in
          throw StorageError(.full, "no space")
        })
    }
    #expect(error?.outcome == .unchanged)
    #expect(try snapshot() == before)
  }

  /// As a file system over a network may do: the rename is carried out, its answer is lost, and when it is
  /// asked for again there is nothing to rename.
  @Test func `that was renamed although the rename reported a failure keeps its key`() async throws
  {
    try await store.fill(threeCredentials)
    let error = await expect(.unavailable) {
      try rekey(
        .keyFile(path: store.keyPath),
        willSwitch: { [path = store.path] _, new throws(StorageError) in
          #expect(unsafe rename("\(path).new-\(new)", path) == 0)
        })
    }
    #expect(error?.outcome == .unknown)
    let opened = try await store.open()
    #expect(try await opened.credentials.findAll().count == 3)
    #expect(try await opened.access.status().isLocked == false)
    await opened.close()
    #expect(try rekey(.keyFile(path: store.keyPath)).count == 3)
  }

  @Test func `is locked when it is reported that the new store is about to replace it`()
    async throws
  {
    try await store.fill(threeCredentials)
    _ = try rekey(
      .keyFile(path: store.keyPath),
      willSwitch: { [path = store.path] old, _ throws(StorageError) in
        guard case .unreadable(let error) = EncryptedFile.presence(at: path) else {
          Issue.record("somebody else could open it")
          return
        }
        #expect(error.message.contains("kistd (pid \(getpid()))"))
      })
  }

  /// As a crash between the two renames leaves it, or a copy of that.
  @Test(arguments: [true, false])
  func `whose key was not put into its place opens, and has it there afterwards`(
    isLinked: Bool
  ) async throws {
    try await store.fill(threeCredentials)
    let oldKey = try Data(contentsOf: URL(filePath: store.keyPath))
    let rekeyed = try rekey(.keyFile(path: store.keyPath))
    let newKey = try Data(contentsOf: URL(filePath: store.keyPath))
    let next = "\(store.keyPath).next-\(rekeyed.id)"
    let kept = try #require(rekeyed.oldKeyFile)
    try FileManager.default.moveItem(atPath: store.keyPath, toPath: next)
    if isLinked {
      try FileManager.default.linkItem(atPath: kept, toPath: store.keyPath)
    } else {
      try FileManager.default.copyItem(atPath: kept, toPath: store.keyPath)
    }

    #expect(try store.examine().faults.isEmpty && store.examine().locked == nil)
    #expect(try Data(contentsOf: URL(filePath: store.keyPath)) == oldKey)
    #expect(try await store.isOpened(by: .keyFile(path: store.keyPath)))
    #expect(try Data(contentsOf: URL(filePath: store.keyPath)) == newKey)
    #expect(try Data(contentsOf: URL(filePath: kept)) == oldKey)
    #expect(!FileManager.default.fileExists(atPath: next))
  }

  @Test func `replaces no key file but the one from before`() async throws {
    try await store.fill(threeCredentials)
    let rekeyed = try rekey(.keyFile(path: store.keyPath))
    let next = "\(store.keyPath).next-\(rekeyed.id)"
    try FileManager.default.moveItem(atPath: store.keyPath, toPath: next)
    let foreign = Data(repeating: 7, count: 32)
    try foreign.write(to: URL(filePath: store.keyPath))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: store.keyPath)
    #expect(try await store.isOpened(by: .keyFile(path: store.keyPath)))
    await expect(.conflict) { try rekey(.keyFile(path: store.keyPath)) }
    #expect(try Data(contentsOf: URL(filePath: store.keyPath)) == foreign)
    #expect(try await store.isOpened(by: .keyFile(path: store.keyPath)))
  }

  private func rekey(
    _ source: EncryptedFile.KeySource, newPassphrase: Secret? = nil, dropsOthers: Bool = false,
    willSwitch: @escaping (String, String) throws(StorageError) -> Void = { _, _ in }
  ) throws(StorageError) -> EncryptedFile.Rekeyed {
    var rekeying = EncryptedFile.Rekeying(
      .init(path: store.path, keySource: source, passphraseCost: .least), keyFile: store.keyPath)
    rekeying.newPassphrase = newPassphrase
    rekeying.dropsOthers = dropsOthers
    rekeying.willSwitch = willSwitch
    return try EncryptedFile.rekey(rekeying)
  }

  /// What is in the files of the store and of its key.
  private func snapshot() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for directory in ["data", "state"] {
      let directory = store.directory(directory)
      for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
      where !name.hasSuffix(".lock") {
        files[name] = try Data(contentsOf: URL(filePath: directory + "/" + name))
      }
    }
    return files
  }

  private func copyToOld() throws {
    for directory in ["data", "state"] {
      try FileManager.default.createDirectory(
        atPath: old.directory(directory), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    }
    // The database first, because it is older than its log.
    for name in try store.names().sorted() where !name.hasSuffix(".lock") {
      try FileManager.default.copyItem(
        atPath: store.directory("data/" + name), toPath: old.directory("data/" + name))
    }
  }
}
