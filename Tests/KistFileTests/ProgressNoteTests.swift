import Foundation
import KistCore
import KistTesting
import Synchronization
import Testing

@testable import KistFile

@Suite(.timeLimit(.minutes(10))) struct `The progress note of a store` {
  @Test func `lets a store open that was killed at any of its changes`() async throws {
    let store = try TestStore()
    let opened = try await store.open(acceptingRollback: false)
    var copies: [(store: Data, log: Data, note: Data?)] = []
    for change in 0..<4 {
      try await opened.credentials.save(.sample(secret: "change \(change)"))
      copies.append(
        (
          try store.bytes(), try Data(contentsOf: URL(filePath: store.path + "-wal")),
          try store.notes().first.map { try Data(contentsOf: URL(filePath: $0)) }
        ))
    }
    await opened.close()
    let note = try #require(try store.notes().first)
    for copy in copies {
      try store.put(copy.store)
      try copy.log.write(to: URL(filePath: store.path + "-wal"))
      try FileManager.default.removeItem(atPath: note)
      try copy.note?.write(to: URL(filePath: note))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: copy.note == nil ? store.path : note)
      #expect(try await opening(store) == nil)
    }
  }

  @Test(.timeLimit(.minutes(5))) func `is written while the store is open`() async throws {
    let store = try TestStore()
    let opened = try await store.open(acceptingRollback: false, delay: .milliseconds(1))
    try await opened.credentials.save(.sample())
    while try store.notes().isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    await opened.close()
  }

  @Test func `is not written before its delay has passed, and once at the end for all changes`()
    async throws
  {
    let store = try TestStore()
    let opened = try await store.open(acceptingRollback: false, delay: .seconds(3600))
    for number in 0..<100 { try await opened.credentials.save(.sample(secret: "\(number)")) }
    #expect(try store.notes().isEmpty)
    await opened.close()
    #expect(try store.notes().count == 1)
  }

  @Test func `is written before the store is locked`() async throws {
    let store = try TestStore()
    let opened = try await store.open(acceptingRollback: false)
    try await opened.credentials.save(.sample())
    _ = try await opened.access.lock()
    #expect(try store.notes().count == 1)
    await opened.close()
  }

  @Test func `of another store in the same place is not changed`() async throws {
    let store = try TestStore()
    _ = try await store.filledTwice()
    try FileManager.default.removeItem(atPath: store.path)
    #expect(try await opening(store) == nil)
    #expect(try store.notes().count == 2)
  }

  @Test func `leaves no unfinished file where its writer was killed`() async throws {
    let store = try TestStore()
    _ = try await store.filledTwice()
    let note = try #require(try store.notes().first)
    try Data([1]).write(to: URL(filePath: note + ".new-17"))
    #expect(try await opening(store) == nil)
    #expect(try store.notes() == [note])
  }

  @Test func `leaves no unfinished file of a store that a killed rekey replaced`() async throws {
    let store = try TestStore()
    _ = try await store.filledTwice()
    let note = try #require(try store.notes().first)
    let state = store.directory("state/")
    let others = ["notes", "progress-ab", "progress-.new-x", "progress-ab.new-1.new-2"]
    for name in others + ["progress-ab.new-17"] {
      try Data([1]).write(to: URL(filePath: state + name))
    }
    #expect(try await opening(store) == nil)
    let names = try FileManager.default.contentsOfDirectory(atPath: state)
    #expect(Set(names) == Set(others + ["key", (note as NSString).lastPathComponent]))
  }

  @Test func `that cannot be used is reported, and prevents neither an examination nor a rekey`()
    async throws
  {
    let store = try TestStore()
    _ = try await store.filledTwice()
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: try #require(try store.notes().first))
    let reports = Mutex<[StorageError.Code]>([])
    let progress = store.progress(report: { error in reports.withLock { $0.append(error.code) } })
    let examination = try EncryptedFile.examine(
      path: store.path, keySource: .keyFile(path: store.keyPath), progress: progress)
    #expect(examination.faults.isEmpty && examination.isComplete)
    #expect(reports.withLock(\.self) == [.denied])
    let options = EncryptedFile.Options(
      path: store.path, keySource: .keyFile(path: store.keyPath), progress: progress)
    _ = try EncryptedFile.rekey(EncryptedFile.Rekeying(options, keyFile: store.keyPath))
    #expect(reports.withLock(\.self) == [.denied, .denied])
  }

  @Test func `is of one directory: a copy elsewhere does not disturb the original`() async throws {
    let store = try TestStore()
    _ = try await store.filledTwice()
    let elsewhere = store.directory("copy/credentials.db")
    try FileManager.default.copyItem(
      atPath: store.directory("data"), toPath: store.directory("copy"))
    let copy = try await EncryptedFile.open(
      EncryptedFile.Options(
        path: elsewhere, keySource: .keyFile(path: store.keyPath), progress: store.progress()))
    try await copy.credentials.save(.sample(secret: "of the copy"))
    await copy.close()
    #expect(try await opening(store) == nil)
  }

  @Test(arguments: [Plant.fifo, .folder, .link])
  func `that cannot be read is reported, is not changed, and does not prevent opening`(
    plant: Plant
  ) async throws {
    let store = try TestStore()
    _ = try await store.filledTwice()
    let note = try #require(try store.notes().first)
    try FileManager.default.moveItem(atPath: note, toPath: store.directory("note"))
    try plant.put(at: note, linkedTo: store.directory("note"))
    let number = try fileNumber(note)
    let reports = Mutex<[StorageError]>([])
    let opened = try await store.open(
      acceptingRollback: false, report: { error in reports.withLock { $0.append(error) } })
    try await opened.credentials.save(.sample())
    await opened.close()
    #expect(reports.withLock { $0.map(\.code) } == [.denied])
    #expect(try fileNumber(note) == number)
  }

  @Test func `is sealed, of mode 600, and has no name in it`() async throws {
    let store = try TestStore()
    _ = try await store.filledTwice()
    let path = try #require(try store.notes().first)
    #expect(try mode(of: path) == 0o600)
    let note = try Data(contentsOf: URL(filePath: path))
    #expect(note.count == 80)
    #expect(note.range(of: Data("github".utf8)) == nil)
  }
}
