import Foundation
import GRDB
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Opening a store` {
  let store = try! TestStore()

  @Test func `creates everything for its owner alone, whatever the umask`() async throws {
    // In a process of its own, because all threads share the umask.
    await #expect(processExitsWith: .success) {
      for mask: mode_t in [0, 0o777] {
        let store = try TestStore()
        umask(mask)
        let opened = try await store.open()
        try await opened.credentials.save(.sample())
        for name in try store.names() {
          #expect(try mode(of: store.directory("data/" + name)) == 0o600)
        }
        #expect(try mode(of: store.directory("data")) == 0o700)
        #expect(try mode(of: store.keyPath) == 0o600)
        await opened.close()
      }
    }
  }

  @Test func `a closed store leaves no log behind, and opens again unchanged`() async throws {
    try await store.fill(threeCredentials)
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
    let opened = try await store.open()
    #expect(try await opened.credentials.findAll().count == 3)
    #expect(try await opened.access.status().count == 3)
    await opened.close()
  }

  @Test func `that is in a directory behind a link is as in any other`() async throws {
    let real = store.directory("elsewhere")
    try FileManager.default.createDirectory(
      atPath: real, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for name in ["data", "state"] {
      try FileManager.default.createSymbolicLink(
        atPath: store.directory(name), withDestinationPath: real)
    }
    try await store.fill(threeCredentials)
    let opened = try await store.open()
    #expect(try await opened.credentials.findAll().count == 3)
    await opened.close()
    #expect(FileManager.default.fileExists(atPath: real + "/credentials.db"))
  }

  @Test func `a file in the place of the directory is refused by name`() async throws {
    let file = store.directory("data")
    try Data("a backup".utf8).write(to: URL(filePath: file))
    let error = await expect(.unavailable) { try await store.open() }
    #expect(error?.message == "\(file) is a file, but kistd needs a directory there")
    #expect(error?.hint?.hasPrefix("move the file away") == true)
    #expect(try Data(contentsOf: URL(filePath: file)) == Data("a backup".utf8))
  }

  @Test
  func `a store that is gone is not created again, and another one in its place is not changed`()
    async throws
  {
    let options = EncryptedFile.Options(
      path: store.path, storeID: String(repeating: "0", count: 32),
      keySource: .keyFile(path: store.keyPath))
    await expect(.unavailable) { try await EncryptedFile.open(options) }
    #expect(try store.names() == ["credentials.db.lock"])
    try await store.fill(threeCredentials)
    let before = try store.bytes()
    await expect(.unavailable) { try await EncryptedFile.open(options) }
    #expect(try store.bytes() == before)
    let opened = try await store.open()
    #expect(try await opened.credentials.findAll().count == 3)
    await opened.close()
  }

  @Test func `a closed store answers unavailable, and closes twice`() async throws {
    let opened = try await store.open()
    await opened.close()
    await opened.close()
    await expect(.unavailable) { try await opened.credentials.load(.sample) }
    let error = await expect(.unavailable) { try await opened.credentials.save(.sample()) }
    #expect(error?.outcome == .unchanged)
    await expect(.unavailable) { try await opened.access.status() }
    await expect(.unavailable) { try await opened.access.unlock(nil) }
  }

  @Test func `a second opening is refused with the pid of the first`() async throws {
    let opened = try await store.open()
    let error = await expect(.unavailable) { try await store.open() }
    #expect(error?.message.contains("pid \(getpid())") == true)
    try await opened.credentials.save(.sample())
    await opened.close()
    await (try store.open()).close()
  }

  @Test(arguments: [0, 1, 50, 100, 4096, 5000])
  func `a file that is cut short is corrupt`(size: Int) async throws {
    try await store.fill(threeCredentials)
    try store.bytes().prefix(size).write(to: URL(filePath: store.path))
    try await store.expectRefusedUntouched(.corrupt) { try await store.open() }
  }

  @Test func `a file that is not SQLite is corrupt`() async throws {
    try await store.fill([])
    try Data(repeating: 0x41, count: 8192).write(to: URL(filePath: store.path))
    try await store.expectRefusedUntouched(.corrupt) { try await store.open() }
  }

  @Test func `another program's database is corrupt`() async throws {
    try await store.fill([])
    try store.meddle { try $0.execute(sql: "PRAGMA application_id = 7") }
    try await store.expectRefusedUntouched(.corrupt) { try await store.open() }
  }

  @Test func `a store of a newer version is refused and not touched`() async throws {
    try await store.fill(threeCredentials)
    try store.meddle { try $0.execute(sql: "PRAGMA user_version = 2") }
    let error = try await store.expectRefusedUntouched(.unavailable) { try await store.open() }
    #expect(error?.message.contains("format 2") == true)
  }

  @Test(arguments: [
    "CREATE TRIGGER t AFTER DELETE ON credential BEGIN DELETE FROM slot; END",
    "CREATE VIEW v AS SELECT * FROM credential",
    "CREATE INDEX i ON credential (sequence)",
    "CREATE TABLE more (x)",
    "ALTER TABLE slot ADD COLUMN x BLOB",
    "ALTER TABLE slot RENAME TO slots",
    "DROP TABLE slot",
  ])
  func `a planted or a missing part of the schema is corrupt`(sql: String) async throws {
    try await store.fill(threeCredentials)
    try store.meddle { try $0.execute(sql: sql) }
    try await store.expectRefusedUntouched(.corrupt) { try await store.open() }
  }

  @Test func `a log without its store is corrupt, and no new store is made`() async throws {
    try await store.fill([])
    try FileManager.default.moveItem(atPath: store.path, toPath: store.path + "-wal")
    await expect(.corrupt) { try await store.open() }
    #expect(try store.names() == ["credentials.db-wal", "credentials.db.lock"])
  }

  @Test func `an unfinished store that a crash left is replaced`() async throws {
    try await store.fill([])
    for suffix in ["", "-wal", "-journal"] {
      try Data("half".utf8).write(to: URL(filePath: store.path + ".new" + suffix))
    }
    try FileManager.default.removeItem(atPath: store.path)
    try await store.fill([.sample()])
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
  }

  @Test func `the next start removes the log of an unfinished store that was renamed`() async throws
  {
    try await store.fill([.sample()])
    for suffix in ["-wal", "-shm", "-journal"] {
      try Data("half".utf8).write(to: URL(filePath: store.path + ".new" + suffix))
    }
    let storage = try await store.open()
    await storage.close()
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
  }

  @Test func `a directory that others may write is refused`() async throws {
    try await store.fill([])
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o777], ofItemAtPath: store.directory("data"))
    let error = await expect(.denied) { try await store.open() }
    #expect(error?.hint?.contains("chmod 700") == true)
  }

  @Test func `a directory whose path needs quotes is refused with a command to paste`()
    async throws
  {
    let directory = store.directory("a b;touch c")
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o777])
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
    let options = EncryptedFile.Options(
      path: directory + "/credentials.db", keySource: .keyFile(path: store.keyPath))
    let error = await expect(.denied) { try await EncryptedFile.open(options) }
    #expect(error?.hint?.hasPrefix("`chmod 700 '\(directory)'`") == true)
  }

  @Test func `a directory of another user is refused`() async throws {
    var path = "/usr/credentials.db"
    if geteuid() == 0 {
      try await store.fill([])
      try FileManager.default.setAttributes(
        [.ownerAccountID: 1], ofItemAtPath: store.directory("data"))
      path = store.path
    }
    let options = EncryptedFile.Options(path: path, keySource: .keyFile(path: store.keyPath))
    let error = await expect(.denied) { try await EncryptedFile.open(options) }
    #expect(error?.hint?.contains("chown") == true)
  }

  @Test(arguments: ["/proc/absent/data/credentials.db", "/proc/absent/credentials.db", nil])
  func `a directory that cannot be made is an error, not an endless attempt`(path: String?)
    async throws
  {
    try FileManager.default.createSymbolicLink(
      atPath: store.directory("dangling"), withDestinationPath: store.directory("absent/absent"))
    let options = EncryptedFile.Options(
      path: path ?? store.directory("dangling/data/credentials.db"),
      keySource: .keyFile(path: store.keyPath))
    let error = await expect(.unavailable) { try await EncryptedFile.open(options) }
    #expect(error?.message.contains("making the directory") == true)
  }

  @Test(arguments: ["file:store?mode=memory", "file:store", ":memory:"])
  func `a path that SQLite would take for something else is a path`(path: String) async throws {
    // In a process of its own, because all threads share the working directory.
    await #expect(processExitsWith: .success) { [path] in
      let store = try TestStore()
      #expect(FileManager.default.changeCurrentDirectoryPath(store.directory.path))
      let options = EncryptedFile.Options(path: path, keySource: .keyFile(path: store.keyPath))
      for _ in 0..<2 {
        let opened = try await EncryptedFile.open(options)
        try await opened.credentials.save(.sample())
        await opened.close()
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: store.directory.path)
      #expect(Set(names) == [path, path + ".lock", "state"])
    }
  }

  @Test func `a store with too many rights gets the right ones`() async throws {
    try await store.fill([])
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: store.path)
    await (try store.open()).close()
    #expect(try mode(of: store.path) == 0o600)
  }
}
