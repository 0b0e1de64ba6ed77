import Foundation
import KistCore
import KistSodium
import KistTesting
import Synchronization
import Testing

@testable import KistFile

/// A program that frees disk space may empty or remove SQLite's log, which has the latest changes.
@Suite(.timeLimit(.minutes(10))) struct `A log that is changed while kistd has it open` {
  let store = try! TestStore()
  private let second = NewCredential.sample(.init(service: "example.org"), secret: "second")
  private let third = NewCredential.sample(.init(service: "example.net"), secret: "third")
  private var log: String { store.path + "-wal" }

  /// How the store is closed.
  enum Closing: CaseIterable { case locked, closed }

  @Test(arguments: [0, 1, 50, 99], Closing.allCases)
  func `and shortened refuses changes, and is not merged`(percent: Int, closing: Closing)
    async throws
  {
    try await store.fill([.sample()])
    let database = try store.bytes()
    let kept = Mutex<[StorageError]>([])
    let opened = try await open { error in kept.withLock { $0.append(error) } }
    for _ in 0..<10 { try await opened.credentials.save(second) }
    let size = try logSize()
    try #require(unsafe truncate(log, off_t(percent == 99 ? size - 1 : size * percent / 100)) == 0)
    let shortened = try logSize()
    for request in [
      { try await opened.credentials.save(third) as Any },
      { try await opened.credentials.delete(.sample) as Any },
    ] {
      let error = await expect(.corrupt, from: request)
      #expect(error?.message.contains("was shortened while kistd had it open") == true)
      #expect(error?.outcome == .unchanged)
    }
    #expect(try await opened.access.status().problem?.code == .corrupt)
    await expect(.corrupt) {
      try await opened.backups.make(.begin(passphrase: Secret(utf8: "correct horse")))
    }
    switch closing {
    case .locked:
      let status = try await opened.access.lock()
      #expect(status.isLocked && status.problem?.message.contains("was shortened") == true)
    case .closed: await opened.close()
    }
    let count = kept.withLock(\.count)
    #expect(count == 1)
    #expect(try store.bytes() == database && logSize() == shortened)
    await opened.close()
    let reopened = try await store.open()
    #expect(try await reopened.credentials.load(.sample).secret == NewCredential.sample().secret)
    await reopened.close()
  }

  /// The integrity check reads the log too, sometimes before and sometimes after it is shortened.
  @Test(arguments: 0..<20)
  func `and shortened is refused even before the first change`(_: Int) async throws {
    try await store.fill([.sample()])
    let first = try await store.open()
    try await first.credentials.save(second)
    let files = try (store.bytes(), Data(contentsOf: URL(filePath: log)))
    await first.close()
    // As after a crash, so that there is a log.
    try files.0.write(to: URL(filePath: store.path))
    try files.1.write(to: URL(filePath: log))
    let opened = try await store.open()
    try #require(unsafe truncate(log, 0) == 0)
    let error = await expect(.corrupt) { try await opened.credentials.save(third) }
    #expect(error?.message.contains("was shortened") == true)
    await opened.close()
    #expect(try store.bytes() == files.0 && logSize() == 0)
  }

  @Test func `and shortened by kistd itself, which reuses and empties it, accepts changes`()
    async throws
  {
    let opened = try await store.open()
    let large = Secret(copying: [UInt8](repeating: 7, count: Limits.secret))
    var sizes: [Int] = []
    for number in 0..<100 {
      let key = CredentialKey(service: "service \(number % 3)")
      try await opened.credentials.save(NewCredential(key: key, secret: large))
      sizes.append(try logSize())
    }
    // SQLite began it again several times.
    #expect(try #require(sizes.max()) < 50 << 20)
    let passphrase = Secret(utf8: "correct horse battery staple")
    _ = try await opened.keySlots.add(
      KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    _ = try await opened.keySlots.remove(KeySlotRemoval(number: 1, current: passphrase))
    #expect(try logSize() == 0)
    try await opened.credentials.save(second)
    #expect(try await opened.access.status().problem == nil)
    await opened.close()
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
  }

  @Test(arguments: Closing.allCases)
  func `and removed is written again, and the next opening merges it`(closing: Closing)
    async throws
  {
    try await store.fill([.sample()])
    let database = try store.bytes()
    let kept = Mutex<[StorageError]>([])
    let opened = try await open { error in kept.withLock { $0.append(error) } }
    try await opened.credentials.save(second)
    let content = try Data(contentsOf: URL(filePath: log))
    try FileManager.default.removeItem(atPath: log)
    let error = await expect(.unavailable) { try await opened.credentials.save(third) }
    #expect(error?.outcome == .unchanged)
    if closing == .locked { #expect(try await opened.access.lock().problem == nil) }
    if closing == .closed { await opened.close() }
    #expect(try store.bytes() == database)
    #expect(try Data(contentsOf: URL(filePath: log)) == content && mode(of: log) == 0o600)
    let isSilent = kept.withLock(\.isEmpty)
    #expect(isSilent)
    if closing == .locked { #expect(try await !opened.access.unlock(nil).isLocked) }
    await opened.close()
    let reopened = try await store.open()
    #expect(try await Set(reopened.credentials.findAll().map(\.key)) == [.sample, second.key])
    await reopened.close()
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
  }

  @Test func `and removed leaves the database intact on a full disk`()
    async
  {
    // In a process of its own, because the limit is the whole process's.
    await #expect(processExitsWith: .success) {
      signal(SIGXFSZ, SIG_IGN)
      let store = try TestStore()
      try await store.fill([.sample()])
      let database = try store.bytes()
      let kept = Mutex<[StorageError]>([])
      var options = EncryptedFile.Options(
        path: store.path, keySource: .keyFile(path: store.keyPath))
      options.whenLogKept = { error in kept.withLock { $0.append(error) } }
      let opened = try await EncryptedFile.open(options)
      try await opened.credentials.save(
        .sample(.init(service: "example.org"), secret: "second"))
      try FileManager.default.removeItem(atPath: store.path + "-wal")
      var limit = rlimit(rlim_cur: 5000, rlim_max: rlim_t.max)
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      await opened.close()
      limit.rlim_cur = rlim_t.max
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      let codes = kept.withLock { $0.map(\.code) }
      #expect(codes == [.full])
      #expect(try store.bytes() == database)
      #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
      let reopened = try await store.open()
      #expect(try await reopened.credentials.findAll().map(\.key) == [.sample])
      await reopened.close()
    }
  }

  @Test func `and removed leaves the database intact when kistd is killed while it writes the log`()
    async throws
  {
    try await store.fill([.sample()])
    let database = try store.bytes()
    await #expect(processExitsWith: .signal(SIGXFSZ)) {
      [path = store.path as String, keyPath = store.keyPath as String] in
      let opened = try await EncryptedFile.open(
        .init(path: path, keySource: .keyFile(path: keyPath)))
      try await opened.credentials.save(.sample(.init(service: "example.org"), secret: "second"))
      let log = try Descriptor.open(path + "-wal", O_RDONLY)
      try FileManager.default.removeItem(atPath: path + "-wal")
      // The system kills the process when it has written this much of the log.
      var limit = rlimit(rlim_cur: 5000, rlim_max: 5000)
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      signal(SIGXFSZ, SIG_DFL)
      var signals = sigset_t()
      unsafe sigfillset(&signals)
      unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
      try log.restoreLog(of: path)
    }
    #expect(try store.bytes() == database)
    #expect(try store.names().contains("credentials.db.new-wal"))
    let reopened = try await store.open()
    #expect(try await reopened.credentials.findAll().map(\.key) == [.sample])
    await reopened.close()
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
  }

  private func open(
    whenLogKept: @escaping @Sendable (StorageError) -> Void
  ) async throws -> OpenStorage {
    var options = EncryptedFile.Options(
      path: store.path, keySource: .keyFile(path: store.keyPath), now: store.clock.now,
      passphraseCost: .least)
    options.whenLogKept = whenLogKept
    return try await EncryptedFile.open(options)
  }

  private func logSize() throws -> Int {
    try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int ?? -1
  }
}
