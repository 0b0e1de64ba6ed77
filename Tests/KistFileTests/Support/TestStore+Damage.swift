import Foundation
import GRDB
import KistCore
import KistTesting
import Testing

extension TestStore {
  /// Expects a request to be refused with this code and a hint, and the bytes of the store to stay.
  @discardableResult
  func expectRefusedUntouched<Reply>(
    _ code: StorageError.Code, from request: () async throws -> Reply,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> StorageError? {
    let before = try bytes()
    let error = await expect(code, from: request, sourceLocation: sourceLocation)
    #expect(error?.hint != nil, sourceLocation: sourceLocation)
    #expect(try bytes() == before, sourceLocation: sourceLocation)
    return error
  }

  /// Expects of a damaged store that it opens, still gives what is whole, and changes nothing.
  func expectDamage(
    readable: Int?, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let before = try bytes()
    let opened = try await open()
    let absent = CredentialKey(service: "absent")
    try await expectRefusedUntouched(
      .corrupt, from: { try await opened.credentials.load(absent) }, sourceLocation: sourceLocation)
    #expect(
      try await opened.access.status().integrity == .failed, sourceLocation: sourceLocation)
    for request in [
      { try await opened.credentials.save(.sample()) as Any },
      { try await opened.credentials.save(.sample(absent), if: .ifAbsent) as Any },
      { try await opened.credentials.delete(absent) as Any },
      { try await opened.credentials.find(CredentialQuery()) as Any },
    ] {
      try await expectRefusedUntouched(.corrupt, from: request, sourceLocation: sourceLocation)
    }
    var loaded = 0
    for credential in threeCredentials {
      do {
        let secret = try await opened.credentials.load(credential.key).secret
        if readable != nil { #expect(secret == credential.secret, sourceLocation: sourceLocation) }
        loaded += 1
      } catch { #expect(error.code == .corrupt, sourceLocation: sourceLocation) }
    }
    if let readable { #expect(loaded == readable, sourceLocation: sourceLocation) }
    await opened.close()
    #expect(try bytes() == before, sourceLocation: sourceLocation)
  }

  /// Changes the page in which all rows lie (https://sqlite.org/fileformat2.html#b_tree_pages).
  func meddleWithPage(_ body: (inout [UInt8]) -> Void) throws {
    var number = 0
    try meddle { database in
      let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'credential'"
      number = try #require(try Int.fetchOne(database, sql: sql))
    }
    var bytes = try bytes()
    let range = (number - 1) * 4096..<number * 4096
    var page = [UInt8](bytes[range])
    #expect(page[0] == 0x0D && page[4] == 3)
    body(&page)
    bytes.replaceSubrange(range, with: page)
    try bytes.write(to: URL(filePath: path))
  }

  /// Puts a row in, in place of the one at its address.
  static func insert(_ row: Row, in database: Database) throws {
    try database.execute(
      sql: "INSERT OR REPLACE INTO credential VALUES (?, ?, ?, ?, ?, ?)",
      arguments: StatementArguments(row.databaseValues))
  }
}
