import Foundation
import GRDB
import KistCore
import KistSodium
import KistTesting
import Synchronization
import Testing

@testable import KistFile

/// An older copy of the whole store is authentic.
///
/// Only the note outside of the store shows that it is older (docs/file-format.md, "The progress
/// file").
@Suite(.timeLimit(.minutes(10))) struct `An older copy of a store` {
  @Test(arguments: Return.allCases)
  private func `is refused, and is not changed`(_ way: Return) async throws {
    let store = try TestStore()
    try await way.make(store)
    let before = try store.bytes()
    let error = try #require(await opening(store))
    #expect(error.code == .corrupt)
    #expect(error.message.contains(way.explanation), "\(error.message)")
    #expect(error.hint?.contains("--accept-rollback") == true)
    #expect(try store.bytes() == before)
  }

  @Test(arguments: Return.allCases)
  private func `is opened when that is accepted, and from then on`(_ way: Return) async throws {
    let store = try TestStore()
    try await way.make(store)
    let accepted = try await store.open(acceptingRollback: true)
    #expect(try await accepted.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await accepted.close()
    #expect(try await opening(store) == nil)
  }

  @Test func `is accepted once`() async throws {
    let store = try TestStore()
    let copy = try await store.filledTwice()
    let isAccepted = Mutex(true)
    let take: @Sendable () -> Bool = {
      isAccepted.withLock { isAccepted in
        defer { isAccepted = false }
        return isAccepted
      }
    }
    try store.put(copy)
    let opened = try await store.open(acceptingRollback: take)
    try await opened.credentials.save(.sample(.init(service: "example.com"), secret: "third"))
    await opened.close()
    try store.put(copy)
    #expect(try await opening(store, accepting: take)?.code == .corrupt)
  }

  @Test func `is accepted by one opening, and then by each unlock`() async throws {
    let store = try TestStore()
    try store.put(try await store.filledTwice())
    let isAccepted = Mutex(true)
    let accepted = Mutex<[String]>([])
    let progress = EncryptedFile.ProgressOptions(
      directory: store.directory("state"), delay: .seconds(3600),
      acceptsRollback: {
        isAccepted.withLock { isAccepted in
          defer { isAccepted = false }
          return isAccepted
        }
      }, reportAccepted: { error in accepted.withLock { $0.append(error.message) } })
    let opened = try await EncryptedFile.open(
      EncryptedFile.Options(
        path: store.path, keySource: .keyFile(path: store.keyPath), now: store.clock.now,
        progress: progress))
    #expect(try await !opened.access.unlock(nil).isLocked)
    await opened.close()
    let messages = accepted.withLock(\.self)
    #expect(messages.count == 1)
    #expect(messages.first?.contains("at change 1, but kistd noted change 2") == true)
  }

  @Test func `from before a rekey is refused, unless that is accepted`() async throws {
    let store = try TestStore()
    let passphrase = EncryptedFile.KeySource.passphrase(Secret(utf8: "correct horse"))
    _ = try await store.filledTwice(passphrase)
    let old = try store.bytes()
    var options = EncryptedFile.Options(
      path: store.path, keySource: passphrase, now: store.clock.now, passphraseCost: .least)
    options.progress = store.progress()
    _ = try EncryptedFile.rekey(EncryptedFile.Rekeying(options))
    let new = try await store.open(acceptingRollback: false, passphrase)
    try await new.credentials.save(.sample(secret: "third"))
    await new.close()
    try store.put(old)
    let error = try #require(await opening(store, passphrase))
    #expect(error.code == .corrupt)
    #expect(
      error.message.hasSuffix(
        "it is from before a `kistd rekey`, which kistd noted on 2026-11-20T10:00:00Z"))
    #expect(error.hint?.contains("`kistd --data DIRECTORY`") == true)
    #expect(try await opening(store, passphrase, accepting: { true }) == nil)
    #expect(try await opening(store, passphrase) == nil)
  }

  @Test func `is found before a start without a change, as a damaged header is`()
    async throws
  {
    let store = try TestStore()
    let copy = try await store.filledTwice()
    let options = EncryptedFile.Options(
      path: store.path, keySource: .keyFile(path: store.keyPath), progress: store.progress())
    try EncryptedFile.checkOpening(options)
    let newest = try store.bytes()
    try store.put(copy)
    let error = await expect(.corrupt) { try EncryptedFile.checkOpening(options) }
    #expect(error?.message.hasPrefix("the store is an older copy: ") == true)
    #expect(try store.bytes() == copy)
    try store.put(newest)
    try store.meddle { database in
      try database.execute(sql: "UPDATE store SET header = zeroblob(length(header))")
    }
    await expect(.corrupt) { try EncryptedFile.checkOpening(options) }
  }

  @Test func `is refused by an unlock, too`() async throws {
    let store = try TestStore()
    let passphrase = Secret(utf8: "correct horse")
    let copy = try await store.filledTwice(.passphrase(passphrase))
    try store.put(copy)
    let locked = try await store.open(acceptingRollback: false, EncryptedFile.KeySource.none)
    await #expect(throws: StorageError.self) { try await locked.access.unlock(passphrase) }
    let status = try await locked.access.status()
    #expect(status.isLocked && status.problem?.code == .corrupt)
    for request in [
      { _ = try await locked.credentials.load(.sample) },
      { _ = try await locked.credentials.findAll() },
      { _ = try await locked.credentials.save(.sample()) },
    ] {
      let error = await expect(.locked, from: request)
      #expect(error?.message.hasPrefix("the store is an older copy: ") == true)
    }
    // What else an unlock says is still only about the passphrase.
    await expect(.wrongPassphrase) { try await locked.access.unlock(Secret(utf8: "a typo")) }
    _ = try await locked.access.lock()
    #expect(try await locked.access.status().problem?.code == .corrupt)
    await locked.close()
  }

  @Test(arguments: [false, true])
  func `is refused by an unlock that follows its copying over the store`(wasOpen: Bool)
    async throws
  {
    let store = try TestStore()
    let passphrase = Secret(utf8: "correct horse")
    let source = EncryptedFile.KeySource.passphrase(passphrase)
    let copy = try await store.filledTwice(source)
    let opened = try await store.open(acceptingRollback: false, wasOpen ? source : .none)
    _ = try await opened.access.lock()
    // Keeps the file that kistd has open, unlike a rename.
    let file = try FileHandle(forUpdating: URL(filePath: store.path))
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: copy)
    try file.close()
    let error = await expect(.corrupt) { try await opened.access.unlock(passphrase) }
    #expect(error?.message.hasPrefix("the store is an older copy: ") == true)
    #expect(try await opened.access.status().isLocked)
    await opened.close()
    #expect(try store.bytes() == copy)
    #expect(try await opening(store, source)?.code == .corrupt)
  }

  @Test func `is reported by fsck, and receives no new key`() async throws {
    let store = try TestStore()
    try store.put(try await store.filledTwice())
    let examination = try EncryptedFile.examine(
      path: store.path, keySource: .keyFile(path: store.keyPath), progress: store.progress())
    #expect(examination.faults.map(\.part) == [.progress])
    #expect(examination.faults.first?.hint?.contains("--accept-rollback") == true)
    #expect(examination.isComplete)
    let options = EncryptedFile.Options(
      path: store.path, keySource: .keyFile(path: store.keyPath), progress: store.progress())
    let error = #expect(throws: StorageError.self) {
      try EncryptedFile.rekey(EncryptedFile.Rekeying(options, keyFile: store.keyPath))
    }
    #expect(error?.code == .corrupt)
    #expect(error?.hint?.contains("--accept-rollback") == true)
    #expect(error?.outcome == nil || error?.outcome == .unchanged)
  }

  /// How an older state comes back.
  private enum Return: CaseIterable, CustomTestStringConvertible {
    case copy, removedLog, salvage, damagedNote

    var testDescription: String { "\(self)" }

    var explanation: String {
      switch self {
      case .copy: "it is at change 1, but kistd noted change 2 on 2026-11-20T10:00:00Z"
      case .removedLog: "it is at change 2, but kistd noted change 3 on 2026-11-20T10:00:00Z"
      case .salvage, .damagedNote: "kistd cannot verify its progress note "
      }
    }

    func make(_ store: TestStore) async throws {
      let copy = try await store.filledTwice()
      switch self {
      case .copy: try store.put(copy)
      case .removedLog:
        let opened = try await store.open(acceptingRollback: false)
        try await opened.credentials.save(
          .sample(.init(service: "example.com"), secret: "only in the log"))
        let withoutLog = try store.bytes()
        await opened.close()
        try store.put(withoutLog)
      case .salvage:
        let new = EncryptedFile.Options(
          path: store.directory("salvaged/credentials.db"),
          keySource: .keyFile(path: store.keyPath))
        _ = try EncryptedFile.salvage(
          path: store.path, keySource: .keyFile(path: store.keyPath), to: new)
        try store.put(try Data(contentsOf: URL(filePath: new.path)))
      case .damagedNote:
        let path = try #require(try store.notes().first)
        var note = try Data(contentsOf: URL(filePath: path))
        note[note.count - 1] ^= 1
        try note.write(to: URL(filePath: path))
      }
    }
  }
}
