import Foundation
import GRDB
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A backup` {
  let store = try! TestStore()
  let new = try! TestStore()
  let passphrase = Secret(utf8: "of the backup")
  private var file: EncryptedFile.BackupFile {
    EncryptedFile.BackupFile(
      path: store.directory("backup"), passphrase: { [passphrase] in passphrase })
  }

  @Test func `restores every field of each credential, with new revisions`() async throws {
    let opened = try await store.openWithAllThatCanBeSaid()
    let originals = try await opened.credentials.findAll()
    try await fetch(opened)
    await opened.close()

    #expect(try EncryptedFile.verify(file) == 2)
    let restored = try restore()
    #expect(restored.count == 2 && restored.id != opened.id)
    #expect(try new.names() == ["credentials.db", "credentials.db.lock"])
    #expect(try mode(of: new.path) == 0o600)
    #expect(try mode(of: new.keyPath) == 0o600)
    let storage = try await new.open()
    #expect(storage.id == restored.id)
    let copies = try await storage.credentials.findAll()
    #expect(copies.sortedWithoutRevisions == originals.sortedWithoutRevisions)
    #expect(Set(copies.map(\.revision)).isDisjoint(with: originals.map(\.revision)))
    #expect(try await storage.credentials.load(.sample).secret == NewCredential.sample().secret)
    #expect(try await storage.access.status().integrity == .ok)
    await storage.close()
    // The passphrase is the backup's alone.
    #expect(try await !new.isOpened(by: .passphrase(passphrase)))
  }

  @Test func `is of one moment, while saves continue, and leaves no file`()
    async throws
  {
    let opened = try await store.open()
    // Each change is of both, so that only what was not at one moment differs.
    func save(_ number: Int) async throws {
      for service in ["first", "second"] {
        try await opened.credentials.save(
          .sample(.init(service: service), secret: "\(number)"))
      }
    }
    for number in 0..<200 {
      try await opened.credentials.save(.sample(.init(service: "filling \(number)")))
    }
    try await save(0)
    let saving = Task {
      var number = 1
      while !Task.isCancelled {
        try await save(number)
        number += 1
      }
      return number
    }
    var seen: Set<Int> = []
    for round in 0..<10 {
      try await fetch(opened)
      let restored = try TestStore()
      _ = try restore(into: restored)
      let storage = try await restored.open()
      let values = try await ["first", "second"].asyncMap { service in
        let secret = try await storage.credentials.load(.init(service: service)).secret
        return try #require(
          Int(
            secret.withBytes { bytes in
              String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
            }))
      }
      // The second is saved after the first.
      #expect(values[0] == values[1] || values[0] == values[1] + 1, "\(round): \(values)")
      #expect(try await storage.credentials.findAll().count == 202)
      seen.insert(values[0])
      await storage.close()
    }
    saving.cancel()
    #expect(try await saving.value > 1)
    #expect(seen.count > 1)
    await opened.close()
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
  }

  @Test func `is read in parts of bounded size, each as often as requested`() async throws {
    let opened = try await store.open()
    for number in 0..<4 {
      try await opened.credentials.save(
        .sample(
          .init(service: "\(number)"), secret: String(repeating: "x", count: Limits.secret)))
    }
    let backup = try await opened.backups.make(under: passphrase)
    #expect(backup.count == 4 && backup.size > 4 * Limits.secret)
    let part = try await opened.backups.read(BackupPart(of: backup.id, from: 0))
    #expect(part.count == Backup.partSize)
    #expect(try await opened.backups.read(BackupPart(of: backup.id, from: 0)) == part)
    for offset in [-1, backup.size, Int.max] {
      await expect(.badRequest) {
        try await opened.backups.read(BackupPart(of: backup.id, from: offset))
      }
    }
    await expect(.unavailable) {
      try await opened.backups.read(BackupPart(of: "another", from: 0))
    }
    // What was read to its end, and what another one was begun after, is there no more.
    _ = try await opened.backups.read(BackupPart(of: backup.id, from: backup.size - 1))
    await expect(.unavailable) {
      try await opened.backups.read(BackupPart(of: backup.id, from: 0))
    }
    let second = try await opened.backups.make(under: passphrase)
    _ = try await opened.backups.make(under: passphrase)
    await expect(.unavailable) {
      try await opened.backups.read(BackupPart(of: second.id, from: 0))
    }
    await opened.close()
  }

  @Test func `of a store that is locked or closed, or without a passphrase, is not made`()
    async throws
  {
    try await store.fill([.sample()])
    let opened = try await store.open()
    await expect(.badRequest) { try await opened.backups.make(under: Secret(utf8: "")) }
    await expect(.tooLarge) {
      try await opened.backups.make(under: Secret(utf8: String(repeating: "x", count: 1025)))
    }
    _ = try await opened.access.lock()
    await expect(.locked) { try await opened.backups.make(under: passphrase) }
    await opened.close()
    await expect(.unavailable) { try await opened.backups.make(under: passphrase) }
  }

  @Test func `of a store that is damaged is not made`() async throws {
    try await store.fill(threeCredentials)
    try store.meddle {
      try $0.execute(sql: "UPDATE credential SET secret = zeroblob(104) WHERE sequence = 1")
    }
    let opened = try await store.open()
    await expect(.corrupt) { try await opened.backups.make(under: passphrase) }
    await opened.close()
  }

  @Test func `that is cut anywhere, or changed, is corrupt, and creates nothing`() async throws {
    let opened = try await store.open()
    for credential in threeCredentials { try await opened.credentials.save(credential) }
    try await fetch(opened)
    await opened.close()
    let whole = try Data(contentsOf: URL(filePath: file.path))
    var generator = Seeded(7)
    let cuts = stride(from: 0, to: whole.count, by: 512).map { whole.prefix($0) }
    let changes = (0..<100).map { _ in
      var bytes = whole
      bytes[Int.random(in: 100..<whole.count, using: &generator)] ^= 1
      return bytes
    }
    var refused = 0
    for bytes in cuts + changes {
      try bytes.write(to: URL(filePath: file.path))
      do {
        // What is free in the pages is not looked at.
        #expect(try EncryptedFile.verify(file) == 3)
        #expect(!cuts.contains(bytes))
      } catch {
        #expect([.corrupt, .wrongPassphrase].contains(error.code), "\(error)")
        await expect(error.code) { try restore() }
        refused += 1
      }
    }
    #expect(refused >= cuts.count)
    #expect(!FileManager.default.fileExists(atPath: new.path))
  }

  @Test func `with a wrong passphrase, or a missing file, creates nothing`() async throws {
    try await store.fill([.sample()])
    let opened = try await store.open()
    try await fetch(opened)
    await opened.close()
    var wrong = file
    wrong.passphrase = { Secret(utf8: "another") }
    await expect(.wrongPassphrase) { try EncryptedFile.verify(wrong) }
    wrong.path += "-not-there"
    await expect(.badRequest) { try EncryptedFile.verify(wrong) }
    wrong.path = store.directory.path
    await expect(.badRequest) { try EncryptedFile.verify(wrong) }
    // A link to itself, of which nobody can say what it is.
    wrong.path = store.directory("loop")
    #expect(unsafe symlink("loop", wrong.path) == 0)
    await expect(.unavailable) { try EncryptedFile.verify(wrong) }
    #expect(!FileManager.default.fileExists(atPath: new.path))
  }

  @Test func `replaces neither a store nor its log`() async throws {
    try await store.fill([.sample()])
    let opened = try await store.open()
    try await fetch(opened)
    await opened.close()
    try await new.fill(threeCredentials)
    let before = try new.bytes()
    await expect(.conflict) { try restore() }
    #expect(try new.bytes() == before)
    let used = try await new.open()
    await expect(.busy) { try restore() }
    await used.close()
    try FileManager.default.moveItem(atPath: new.path, toPath: new.path + "-wal")
    await expect(.corrupt) { try restore() }
    #expect(try new.names() == ["credentials.db-wal", "credentials.db.lock"])
  }

  @Test
  func `that fails before the store has its name leaves no store, and the next attempt succeeds`()
    async throws
  {
    try await store.fill([.sample()])
    let opened = try await store.open()
    try await fetch(opened)
    await opened.close()
    await expect(.full) {
      try restore { _ throws(StorageError) in throw StorageError(.full, "no space") }
    }
    #expect(try new.names() == ["credentials.db.lock"])
    #expect(try restore().count == 1)
    #expect(try await new.isOpened(by: .keyFile(path: new.keyPath)))
  }

  @Test func `whose final name may not be on disk has an unknown outcome`() async {
    // In a process of its own, because the limit is the whole process's.
    await #expect(processExitsWith: .success) {
      let backup = `A backup`()
      try await backup.store.fill([.sample()])
      let opened = try await backup.store.open()
      try await backup.fetch(opened)
      await opened.close()
      let error = await expect(.unavailable) {
        try backup.restore { _ throws(StorageError) in
          // Nothing more is opened, and so the directory is not flushed.
          let next = dup(STDIN_FILENO)
          close(next)
          limitOpenFiles(to: rlim_t(next))
        }
      }
      limitOpenFiles(to: 1024)
      #expect(error?.outcome == .unknown)
      #expect(try await backup.new.isOpened(by: .keyFile(path: backup.new.keyPath)))
    }
  }

  /// Has a backup made and reads it into the file.
  private func fetch(_ storage: OpenStorage) async throws {
    try await storage.backups.fetch(under: passphrase, to: file.path)
  }

  private func restore(
    into store: TestStore? = nil,
    willSwitch: (String) throws(StorageError) -> Void = { _ in }
  ) throws(StorageError) -> (id: String, count: Int) {
    let store = store ?? new
    return try EncryptedFile.restore(
      file, to: .init(path: store.path, keySource: .keyFile(path: store.keyPath)),
      willSwitch: willSwitch)
  }
}

extension Array {
  fileprivate func asyncMap<Result>(
    _ transform: (Element) async throws -> Result
  ) async throws -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await transform(element)) }
    return results
  }
}

private func limitOpenFiles(to count: rlim_t) {
  var limit = rlimit(rlim_cur: count, rlim_max: 1024)
  unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

extension Backups {
  /// Makes a backup, and writes it into a file.
  func fetch(under passphrase: Secret, to path: String) async throws {
    let backup = try await make(under: passphrase)
    var bytes = Data()
    while bytes.count < backup.size {
      let part = try await read(BackupPart(of: backup.id, from: bytes.count))
      part.withBytes { part in bytes.append(contentsOf: part.indices.map { part[$0] }) }
    }
    try bytes.write(to: URL(filePath: path))
  }
}
