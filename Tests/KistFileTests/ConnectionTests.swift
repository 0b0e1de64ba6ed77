import GRDB
import KistCore
import Testing

@testable import KistFile

@Suite(.timeLimit(.minutes(10))) struct `A connection` {
  let store = try! TestStore()

  @Test(arguments: [true, false])
  func `is set up to be safe`(readonly: Bool) async throws {
    try await store.fill([])
    let connection = Connection(path: store.path, readonly: readonly, cacheKibibytes: 64)
    try connection.open()
    let settings = try connection.use { database throws(StorageError) in
      var settings: [String] = []
      for pragma: StaticString in [
        "PRAGMA journal_mode", "PRAGMA synchronous", "PRAGMA trusted_schema",
        "PRAGMA cell_size_check", "PRAGMA mmap_size", "PRAGMA secure_delete",
      ] {
        try database.run(pragma) { columns in
          settings.append(columns.text(0))
          return .more
        }
      }
      return settings
    }
    connection.close()
    #expect(settings.prefix(5) == ["wal", "2", "0", "1", "0"])
    if !readonly { #expect(settings.last == "1") }
  }

  @Test func `does not let SQL damage the file`() async throws {
    try await store.fill(threeCredentials)
    let connection = Connection(path: store.path, readonly: false, cacheKibibytes: 64)
    try connection.open()
    let isRefused = try connection.use { database in
      // DEFENSIVE makes it a setting without effect.
      try? database.execute("PRAGMA writable_schema = ON")
      return (try? database.execute("DELETE FROM sqlite_schema")) == nil
    }
    connection.close()
    #expect(isRefused)
  }

  @Test func `keeps other processes out of the file`() async throws {
    let opened = try await store.open()
    await #expect(processExitsWith: .success) { [path = store.path as String] in
      let error = #expect(throws: DatabaseError.self) {
        try DatabaseQueue(path: path).read { try $0.tableExists("store") }
      }
      #expect(error?.resultCode == .SQLITE_BUSY)
    }
    await opened.close()
  }
}
