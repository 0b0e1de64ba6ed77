import Foundation
import GRDB
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `An examination of a store` {
  let store = try! TestStore()

  @Test func `of an undamaged store finds nothing, and changes nothing`() async throws {
    try await store.fill(Specimen.many)
    let before = try store.bytes()
    let found = try store.examine()
    #expect(found.faults.isEmpty && found.locked == nil && found.isComplete)
    #expect(found.good == Specimen.many.count)
    #expect(try store.bytes() == before)
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
  }

  @Test func `reads the log that a crash left, and does not change it`() async throws {
    let opened = try await store.open()
    for credential in threeCredentials { try await opened.credentials.save(credential) }
    let copy = try TestStore()
    try FileManager.default.copyItem(
      atPath: store.directory("data"), toPath: copy.directory("data"))
    await opened.close()
    let log = URL(filePath: copy.path + "-wal")
    let before = (try copy.bytes(), try Data(contentsOf: log))
    try #require(before.1.count > 0)
    let found = try EncryptedFile.examine(
      path: copy.path, keySource: .keyFile(path: store.keyPath))
    #expect(found.faults.isEmpty && found.good == 3)
    #expect(try copy.bytes() == before.0)
    #expect(try Data(contentsOf: log) == before.1)
    #expect(
      try copy.names() == ["credentials.db", "credentials.db-wal", "credentials.db.lock"])
  }

  @Test func `names a credential whose secret fails, and counts one whose name does`() async throws
  {
    try await store.fill(threeCredentials)
    try store.meddle {
      try $0.execute(sql: "UPDATE credential SET secret = zeroblob(104) WHERE sequence = 1")
      try $0.execute(sql: "UPDATE credential SET metadata = zeroblob(104) WHERE sequence = 2")
    }
    let found = try store.examine()
    #expect(found.counted == 3 && found.found == 3 && found.good == 1)
    #expect(found.faults.filter { $0.part == .credential }.map(\.key) == [.sample, nil])
    #expect(found.faults.contains { $0.part == .credentials })
  }

  @Test func `reports how many credentials are missing`() async throws {
    try await store.fill(threeCredentials)
    try store.meddle { try $0.execute(sql: "DELETE FROM credential WHERE sequence = 2") }
    let found = try store.examine()
    #expect(found.counted == 3 && found.found == 2 && found.good == 2 && !found.isComplete)
    #expect(found.faults.map(\.message) == ["there should be 3 credentials, but there are 2"])
  }

  @Test func `of credentials under the header of the empty store names each one`() async throws {
    try await store.fill([])
    var header = Data()
    try store.meddle {
      header = try #require(try Data.fetchOne($0, sql: "SELECT header FROM store"))
    }
    try await store.fill(threeCredentials)
    try store.meddle { try $0.execute(sql: "UPDATE store SET header = ?", arguments: [header]) }
    let found = try store.examine()
    #expect(found.counted == 0 && found.found == 3 && !found.isComplete)
    let named = found.faults.filter { $0.part == .credential }
    #expect(Set(named.compactMap(\.key)) == Set(threeCredentials.map(\.key)))
  }

  @Test func `without the key reports why, and what is readable without it`() async throws {
    let passphrase = Secret(utf8: "correct horse battery staple")
    try await store.fill(threeCredentials, .passphrase(passphrase))
    let whole = try store.examine()
    #expect(whole.locked?.code == .locked && whole.found == 3 && whole.faults.isEmpty)
    let wrong = try store.examine(.passphrase(Secret(utf8: "wrong")))
    #expect(wrong.locked?.code == .wrongPassphrase)
    let opened = try store.examine(.passphrase(passphrase))
    #expect(opened.locked == nil && opened.good == 3)
    try store.meddle { try $0.execute(sql: "CREATE TABLE more (x)") }
    let planted = try store.examine()
    #expect(planted.locked?.code == .locked && planted.faults.map(\.part) == [.database])
  }

  @Test func `of a store in use is busy, and of a missing store notFound`() async throws {
    await expect(.notFound) { try store.examine() }
    #expect(!FileManager.default.fileExists(atPath: store.directory("data")))
    let opened = try await store.open()
    let error = await expect(.busy) { try store.examine() }
    #expect(error?.message.contains("pid \(getpid())") == true)
    await opened.close()
    #expect(try store.examine().faults.isEmpty)
  }

  @Test func `of a file that is not SQLite says that`() async throws {
    try await store.fill([])
    let nonsense = Data(repeating: 0x41, count: 8192)
    try nonsense.write(to: URL(filePath: store.path))
    let found = try store.examine()
    #expect(found.faults.count >= 1 && found.locked != nil && found.found == 0)
    #expect(try store.bytes() == nonsense)
  }

  @Test(arguments: ["", "-wal"])
  func `of a store with a FIFO in place of a file ends, and so does a rekey`(
    suffix: String
  ) async {
    // In a process of its own: one that waits for the other end is ended by the alarm.
    await #expect(processExitsWith: .success) { [suffix = suffix as String] in
      alarm(60)
      let store = try TestStore()
      try await store.fill([])
      if suffix.isEmpty { try FileManager.default.removeItem(atPath: store.path) }
      #expect(unsafe mkfifo(store.path + suffix, 0o600) == 0)
      let isWhole = (try? store.examine())?.faults.isEmpty == true
      #expect(!isWhole || !suffix.isEmpty)
      let options = EncryptedFile.Options(
        path: store.path, keySource: .keyFile(path: store.keyPath))
      let rekeyed = try? EncryptedFile.rekey(.init(options, keyFile: store.keyPath))
      #expect(rekeyed == nil || !suffix.isEmpty)
    }
  }

  @Test(arguments: ["odd ?#%41 name", "file:store", ":memory:"])
  func `reads a path literally`(name: String) async throws {
    let path = store.directory(name + "/credentials.db")
    let options = EncryptedFile.Options(path: path, keySource: .keyFile(path: store.keyPath))
    let opened = try await EncryptedFile.open(options)
    try await opened.credentials.save(.sample())
    await opened.close()
    #expect(try EncryptedFile.examine(path: path, keySource: options.keySource).good == 1)
  }
}

extension TestStore {
  func examine(
    _ keySource: EncryptedFile.KeySource? = nil
  ) throws(StorageError) -> EncryptedFile.Examination {
    try EncryptedFile.examine(path: path, keySource: keySource ?? .keyFile(path: keyPath))
  }
}
