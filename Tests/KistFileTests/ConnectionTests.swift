import GRDB
import Testing

@testable import KistFile

@Suite struct `A connection` {
  let store = try! TestStore()

  @Test(arguments: [true, false])
  func `is set up to be safe`(readonly: Bool) async throws {
    try await store.fill([])
    let connection = Connection(path: store.path, readonly: readonly, cacheKibibytes: 64)
    try connection.open()
    let settings = try connection.use { database in
      ["journal_mode", "synchronous", "trusted_schema", "cell_size_check", "mmap_size"].map {
        try? String.fetchOne(database, sql: "PRAGMA \($0)")
      }
    }
    connection.close()
    #expect(settings == ["wal", "2", "0", "1", "0"])
  }

  @Test func `does not let SQL damage the file`() async throws {
    try await store.fill(threeCredentials)
    let connection = Connection(path: store.path, readonly: false, cacheKibibytes: 64)
    try connection.open()
    let isRefused = try connection.use { database in
      // DEFENSIVE makes it a setting without effect.
      try? database.execute(sql: "PRAGMA writable_schema = ON")
      return (try? database.execute(sql: "DELETE FROM sqlite_schema")) == nil
    }
    connection.close()
    #expect(isRefused)
  }
}
