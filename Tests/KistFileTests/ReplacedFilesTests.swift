import Foundation
import KistCore
import KistFile
import KistTesting
import Synchronization
import Testing

/// A restored copy is often moved, or written, over the files of a store that kistd has open.
@Suite(.timeLimit(.minutes(10))) struct `A store whose files are replaced while it is open` {
  let store = try! TestStore()
  private let second = NewCredential.sample(.init(service: "example.org"), secret: "second")
  private let third = NewCredential.sample(.init(service: "example.net"), secret: "third")

  /// How other files come to the place of the store.
  enum Way: CaseIterable { case moved, written }

  /// A change of the names of an open store.
  enum Change: CaseIterable {
    case replacedDatabase, replacedLog, replacedBoth, removedDatabase, removedLog

    func make(_ store: TestStore, from copy: String) throws {
      let manager = FileManager.default
      for (suffix, changes) in [
        ("", [Self.replacedDatabase, .replacedBoth]), ("-wal", [.replacedLog, .replacedBoth]),
      ] where changes.contains(self) {
        try #require(unsafe rename(copy + suffix, store.path + suffix) == 0)
      }
      if self == .removedDatabase { try manager.removeItem(atPath: store.path) }
      if self == .removedLog { try manager.removeItem(atPath: store.path + "-wal") }
    }
  }

  @Test(arguments: Way.allCases, [false, true])
  func `is opened by an unlock as it is then, and keeps later saves`(way: Way, isLong: Bool)
    async throws
  {
    let opened = try await store.open()
    try await opened.credentials.save(.sample())
    let copy = try copied(store)
    // With more frames in the log, and more pages in the database, than the copy has.
    for number in 0..<(isLong ? 300 : 1) {
      try await opened.credentials.save(.sample(.init(service: "service \(number)")))
    }
    _ = try await opened.access.lock()
    try put(copy, way)
    #expect(try await opened.access.status().isLocked)
    #expect(try await !opened.access.unlock(nil).isLocked)
    #expect(try await opened.credentials.findAll().map(\.key) == [.sample])
    try await opened.credentials.save(second)
    await opened.close()
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
    let reopened = try await store.open()
    #expect(try await reopened.credentials.findAll().count == 2)
    #expect(try await reopened.credentials.load(second.key).secret == Secret(utf8: "second"))
    await reopened.close()
  }

  @Test(arguments: Way.allCases, [false, true])
  func `is refused by an unlock if it is older, and is not changed`(way: Way, wasOpen: Bool)
    async throws
  {
    let passphrase = Secret(utf8: "correct horse")
    let source = EncryptedFile.KeySource.passphrase(passphrase)
    var opened = try await store.open(acceptingRollback: false, source)
    try await opened.credentials.save(.sample())
    let copy = try copied(store)
    try await opened.credentials.save(second)
    if !wasOpen {
      await opened.close()
      opened = try await store.open(acceptingRollback: false, EncryptedFile.KeySource.none)
    }
    _ = try await opened.access.lock()
    let before = try (bytes(copy), bytes(copy + "-wal"))
    try put(copy, way)
    let error = await expect(.corrupt) { try await opened.access.unlock(passphrase) }
    #expect(error?.message.hasPrefix("the store is an older copy: ") == true)
    #expect(try await opened.access.status().isLocked)
    await opened.close()
    #expect(try bytes(store.path) == before.0 && bytes(store.path + "-wal") == before.1)
    #expect(try await opening(store, source)?.code == .corrupt)
  }

  @Test func `is refused by an unlock if it is another store, and is not changed`() async throws {
    try await store.fill([.sample()])
    let other = try TestStore()
    try await other.fill([second], .keyFile(path: store.keyPath))
    let opened = try await store.open()
    _ = try await opened.access.lock()
    let before = try other.bytes()
    try #require(unsafe rename(other.path, store.path) == 0)
    await expect(.unavailable) { try await opened.access.status() }
    let error = await expect(.unavailable) { try await opened.access.unlock(nil) }
    #expect(error == .anotherStore)
    await expect(.locked) { try await opened.credentials.load(.sample) }
    await opened.close()
    #expect(try store.bytes() == before)
  }

  @Test func `is missing for the status and an unlock if it was removed`() async throws {
    try await store.fill([.sample()])
    let opened = try await store.open()
    _ = try await opened.access.lock()
    let copy = store.directory("copy")
    try #require(unsafe rename(store.path, copy) == 0)
    let status = await expect(.unavailable) { try await opened.access.status() }
    let unlock = await expect(.unavailable) { try await opened.access.unlock(nil) }
    #expect(status == .storeIsGone && unlock == .storeIsGone)
    try #require(unsafe rename(copy, store.path) == 0)
    #expect(try await !opened.access.unlock(nil).isLocked)
    await opened.close()
  }

  @Test(arguments: Change.allCases)
  func `refuses changes until it was locked and unlocked again`(change: Change) async throws {
    let opened = try await store.open()
    try await opened.credentials.save(.sample())
    let copy = try copied(store)
    try await opened.credentials.save(second)
    try change.make(store, from: copy)
    let placed = try (bytes(ifAt: store.path), bytes(ifAt: store.path + "-wal"))
    for request in [
      { try await opened.credentials.save(third) as Any },
      { try await opened.credentials.delete(.sample) as Any },
    ] {
      let error = await expect(.unavailable, from: request)
      #expect(error?.message.contains("was replaced or removed while kistd had it open") == true)
      #expect(error?.outcome == .unchanged)
    }
    await expect(.unavailable) {
      try await opened.backups.make(
        .begin(passphrase: Secret(utf8: "correct horse"), allowsWeak: false))
    }
    #expect(try await opened.credentials.load(second.key).secret == Secret(utf8: "second"))
    // So an export still saves everything.
    #expect(try await opened.credentials.findAll().count == 2)
    let problem = try await opened.access.status().problem
    #expect(problem?.message.contains("the file \(store.path) or its log was replaced") == true)
    let status = try await opened.access.lock()
    #expect(status.isLocked && (status.problem == nil) == (change == .removedLog))
    await expect(.locked) { try await opened.credentials.load(second.key) }
    if change != .removedLog {
      #expect(try bytes(ifAt: store.path) == placed.0)
      #expect(try bytes(ifAt: store.path + "-wal") == placed.1)
    }
    if change == .replacedBoth || change == .removedLog {
      #expect(try await !opened.access.unlock(nil).isLocked)
      try await opened.credentials.save(third)
    }
    await opened.close()
    if change == .replacedBoth || change == .removedLog {
      let reopened = try await store.open()
      #expect(try await reopened.credentials.load(third.key).secret == Secret(utf8: "third"))
      await reopened.close()
    }
  }

  @Test func `is locked even if it was removed, and the status says that it is missing`()
    async throws
  {
    try await store.fill([.sample()])
    let opened = try await store.open()
    _ = try await opened.access.lock()
    try FileManager.default.removeItem(atPath: store.path)
    let status = try await opened.access.lock()
    #expect(status.isLocked && status.problem == .storeIsGone)
    await opened.close()
  }

  @Test func `in whose directory's place is a file is not missing, but the file is named`()
    async throws
  {
    try await store.fill([.sample()])
    let (directory, former) = (store.directory("data"), store.directory("former"))
    let opened = try await store.open()
    try #require(unsafe rename(directory, former) == 0)
    try Data().write(to: URL(filePath: directory))
    let requests: [@Sendable () async throws -> Any] = [
      { try await opened.credentials.save(second) },
      {
        _ = try await opened.access.lock()
        return try await opened.access.unlock(nil)
      },
      { try await opened.access.status() },
    ]
    for request in requests {
      let error = await expect(.unavailable, from: request)
      #expect(error?.message == "\(directory) is a file, but kistd needs a directory there")
    }
    try FileManager.default.removeItem(atPath: directory)
    try #require(unsafe rename(former, directory) == 0)
    #expect(try await !opened.access.unlock(nil).isLocked)
    await opened.close()
  }

  @Test func `in a replaced directory is opened only by a restart`() async throws {
    try await store.fill([.sample()])
    let (directory, former) = (store.directory("data"), store.directory("former"))
    try FileManager.default.copyItem(atPath: directory, toPath: store.directory("copy"))
    let opened = try await store.open()
    try #require(unsafe rename(directory, former) == 0)
    try #require(unsafe rename(store.directory("copy"), directory) == 0)
    for request in [
      { try await opened.credentials.save(second) as Any },
      {
        _ = try await opened.access.lock()
        return try await opened.access.unlock(nil)
      },
      { try await opened.access.status() },
    ] {
      let error = await expect(.unavailable, from: request)
      #expect(error?.message.contains("the directory of \(store.path) was replaced") == true)
      #expect(error?.hint?.contains("restart kistd: `kill ") == true)
    }
    // The former directory is in its place again.
    try #require(unsafe rename(directory, store.directory("copy")) == 0)
    try #require(unsafe rename(former, directory) == 0)
    #expect(try await !opened.access.unlock(nil).isLocked)
    await opened.close()
  }

  @Test func `does not confirm a change during which it was replaced`() async throws {
    let isDue = Mutex<String?>(nil)
    let path = store.path
    let opened = try await store.open(nonces: { count in
      // Called in the transaction of a change.
      if let copy = isDue.withLock({ $0 }) { _ = unsafe rename(copy + "-wal", path + "-wal") }
      return (0..<24 * count).map { _ in UInt8.random(in: .min ... .max) }
    })
    try await opened.credentials.save(.sample())
    let copy = try copied(store)
    isDue.withLock { $0 = copy }
    let error = await expect(.unavailable) { try await opened.credentials.save(second) }
    #expect(error?.outcome == .unchanged)
    isDue.withLock { $0 = nil }
    await expect(.unavailable) { try await opened.credentials.save(third) }
    await opened.close()
  }

  /// Copies the database and its log, and returns the path of the copy.
  private func copied(_ store: TestStore) throws -> String {
    let copy = store.directory("copy")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: store.path + suffix, toPath: copy + suffix)
    }
    return copy
  }

  private func put(_ copy: String, _ way: Way) throws {
    for suffix in ["", "-wal"] {
      switch way {
      case .moved: try #require(unsafe rename(copy + suffix, store.path + suffix) == 0)
      case .written: try write(copy + suffix, into: store.path + suffix)
      }
    }
  }

  private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

  private func bytes(ifAt path: String) throws -> Data? {
    FileManager.default.fileExists(atPath: path) ? try bytes(path) : nil
  }
}

/// Writes the bytes of a file into another one, which stays the same file, unlike with a rename.
func write(_ copy: String, into path: String) throws {
  let bytes = try Data(contentsOf: URL(filePath: copy))
  if let file = FileHandle(forUpdatingAtPath: path) {
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: bytes)
    try file.close()
  } else {
    try bytes.write(to: URL(filePath: path))
  }
}
