import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A look at a store without its key` {
  @Test func `reports whether there is a store, its id, and whether it has credentials`()
    async throws
  {
    let store = try TestStore()
    #expect(EncryptedFile.presence(at: store.path) == .absent)
    try await store.fill([])
    guard case .store(let id, hasCredentials: false) = EncryptedFile.presence(at: store.path) else {
      Issue.record("not an empty store")
      return
    }
    try await store.fill([.sample()])
    #expect(EncryptedFile.presence(at: store.path) == .store(id: id, hasCredentials: true))
    let opened = try await store.open()
    #expect(opened.id == id)
    await opened.close()
  }

  @Test func `reports a file in the place of the store's directory`() throws {
    let store = try TestStore()
    let file = store.directory("data")
    try Data("precious".utf8).write(to: URL(filePath: file))
    guard case .unreadable(let error) = EncryptedFile.presence(at: store.path) else {
      Issue.record("not unreadable")
      return
    }
    #expect(error.message == "\(file) is a file, but kistd needs a directory there")
  }

  @Test func `creates nothing where there is no store`() throws {
    let store = try TestStore()
    #expect(EncryptedFile.presence(at: store.path) == .absent)
    #expect(!FileManager.default.fileExists(atPath: store.directory("data")))
  }

  @Test func `changes neither a mode that others can read by, nor a log, even an empty one`()
    async throws
  {
    let store = try TestStore()
    try await store.fill([.sample()])
    let log = store.path + "-wal"
    #expect(FileManager.default.createFile(atPath: log, contents: Data()))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: store.path)
    let names = try store.names()
    let before = try store.bytes()
    guard case .store(_, hasCredentials: true) = EncryptedFile.presence(at: store.path) else {
      Issue.record("not a store with a credential")
      return
    }
    #expect(try store.bytes() == before)
    let mode = try FileManager.default.attributesOfItem(atPath: store.path)[.posixPermissions]
    #expect(mode as? Int == 0o644)
    #expect(try store.names() == names)
  }

  @Test func `reads the log that a crash left`() async throws {
    let store = try TestStore()
    let opened = try await store.open()
    try await opened.credentials.save(.sample())
    let copy = try TestStore()
    try FileManager.default.createDirectory(
      atPath: copy.directory("data"), withIntermediateDirectories: true)
    for end in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: store.path + end, toPath: copy.path + end)
    }
    await opened.close()
    let log = try Data(contentsOf: URL(filePath: copy.path + "-wal"))
    #expect(!log.isEmpty)
    #expect(
      EncryptedFile.presence(at: copy.path)
        == .store(id: try #require(opened.id), hasCredentials: true))
    #expect(try Data(contentsOf: URL(filePath: copy.path + "-wal")) == log)
  }

  @Test func `does not change a file that is not a store`() async throws {
    let store = try TestStore()
    try await store.fill([.sample()])
    try Data("not a database".utf8).write(to: URL(filePath: store.path))
    guard case .unreadable(let error) = EncryptedFile.presence(at: store.path) else {
      Issue.record("taken for a store")
      return
    }
    #expect(error.code == .corrupt)
    #expect(try store.bytes() == Data("not a database".utf8))
  }

  @Test func `names the process that has the store open`() async throws {
    let store = try TestStore()
    let opened = try await store.open()
    guard case .unreadable(let error) = EncryptedFile.presence(at: store.path) else {
      Issue.record("looked at a store in use")
      return
    }
    #expect(error.code == .unavailable)
    await opened.close()
  }
}
