import Foundation
import KistCore
import KistServer
import KistTesting
import KistWire
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `A search in the audit log` {
  /// All records that are asked for, page after page, the newest first.
  private func all(
    _ query: AuditQuery, _ lookup: AuditLookup, betweenPages: () async -> Void = {}
  ) async throws -> [AuditRecord] {
    var query = query
    var records: [AuditRecord] = []
    repeat {
      let page = try await lookup(query)
      #expect(page.records.count <= query.limit)
      records += page.records
      query.after = page.next
      await betweenPages()
    } while query.after != nil
    return records
  }

  @Test(arguments: [1, 7, 1000])
  func `gives each line once, the newest first, from both files`(limit: Int) async throws {
    try await withLog { log in
      let audit = log.open(limit: 64 << 10)
      await audit.seal(with: testSeal)
      for number in 0..<200 {
        audit.put(number)
        await audit.flush()
      }
      #expect(mode(of: log.path + ".1") != nil)
      var query = AuditQuery()
      query.limit = limit
      let numbers = try await all(query, audit.lookup(testSeal)).map(\.number)
      #expect(numbers == (0..<200).reversed())
    }
  }

  @Test func `continues at the same place if a new file is begun between two pages`() async throws {
    try await withLog { log in
      let audit = log.open(limit: 64 << 10)
      await audit.seal(with: testSeal)
      for number in 0..<100 { audit.put(number) }
      var query = AuditQuery()
      query.limit = 60
      let numbers = try await all(query, audit.lookup(testSeal)) {
        for number in 100..<150 { audit.put(number) }
        await audit.flush()
      }.map(\.number)
      #expect(mode(of: log.path + ".1") != nil)
      #expect(numbers == (0..<100).reversed())
    }
  }

  @Test func `ends if the rest has been removed`() async throws {
    try await withLog { log in
      let audit = log.open()
      for number in 0..<10 { audit.put(number) }
      var query = AuditQuery()
      query.limit = 3
      query.after = try await audit.lookup(testSeal)(query).next
      #expect(query.after != nil)
      unsafe unlink(log.path)
      try await #expect(audit.lookup(testSeal)(query) == AuditPage())
    }
  }

  @Test(arguments: ["", ".1"])
  func `ends after the newest part of a file that is too large`(suffix: String) async throws {
    try await withLog { log in
      let audit = log.open(limit: 64 << 10)
      await audit.seal(with: testSeal)
      for number in 0..<10 { audit.put(number) }
      await audit.flush()
      let path = log.path + suffix
      if suffix != "" { #expect(FileManager.default.createFile(atPath: path, contents: nil)) }
      // A sparse file, which needs no space on the disk.
      #expect(unsafe truncate(path, 2 << 40) == 0)
      var (query, numbers, skipped) = (AuditQuery(), [Int?](), 0)
      for _ in 0..<4 {
        let page = try await audit.lookup(testSeal)(query)
        numbers += page.records.map(\.number)
        skipped += page.skipped
        query.after = page.next
        if page.next == nil { break }
      }
      #expect(query.after == nil)
      #expect(skipped > 0)
      #expect(numbers == (suffix == "" ? [] : (0..<10).reversed()))
    }
  }

  @Test(arguments: ["", "x", "1", "1-", "1-2-3", "-1-2", "1--2", "99999999999999999999-1"])
  func `refuses an invalid cursor`(after: String) async throws {
    try await withLog { log in
      var query = AuditQuery()
      query.after = after
      await #expect(throws: StorageError.self) { try await log.open().lookup(nil)(query) }
    }
  }

  @Test func `without a file finds nothing`() async throws {
    try await withLog { log in
      try await #expect(log.open().lookup(testSeal)(AuditQuery()) == AuditPage())
    }
  }

  @Test func `finds lines by client, operation, time and outcome`() async throws {
    try await withLog { log in
      let audit = log.open()
      await audit.seal(with: testSeal)
      let other = Peer(
        pid: 7, uid: geteuid(),
        process: PeerProcess(cgroup: "0::/other.service\n", name: "other", evidence: .pid))
      audit.put(0)
      audit.put(1, of: other)
      audit.put(2, failure: .notFound)
      audit.put("status", of: .sample, failure: nil)
      audit.put("connect", of: other, failure: .denied)
      func found(_ change: (inout AuditQuery) -> Void) async throws -> [String] {
        var query = AuditQuery()
        change(&query)
        return try await all(query, audit.lookup(testSeal)).map { record in
          record.number.map { "\($0)" } ?? record.request?.operation ?? "-"
        }
      }
      try await #expect(found { _ in } == ["connect", "status", "2", "1", "0"])
      try await #expect(found { $0.operation = "load" } == ["2", "1", "0"])
      try await #expect(found { $0.outcome = "ok" } == ["status", "1", "0"])
      try await #expect(found { $0.outcome = "notFound" } == ["2"])
      try await #expect(found { $0.unit = "other.service" } == ["connect", "1"])
      try await #expect(found { $0.pid = 42 } == ["status", "2", "0"])
      try await #expect(found { $0.names.service = "example.org" } == ["2", "1", "0"])
      try await #expect(found { $0.names.account = "1" } == ["1"])
      try await #expect(found { $0.names.account = "9" } == [])
      try await #expect(found { $0.since = .now().advanced(bySeconds: 86_400) } == [])
      try await #expect(found { $0.since = .now().advanced(bySeconds: -86_400) }.count == 5)
    }
  }

  @Test func `reports that names are sealed, and finds none by name without the key`()
    async throws
  {
    try await withLog { log in
      let audit = log.open()
      await audit.seal(with: testSeal)
      audit.put(0)
      let locked = NameSeal(
        begin: { nil },
        open: { _, _ throws(StorageError) in throw .locked("the storage is locked") })
      let stranger = NameSeal(
        begin: { nil },
        open: { _, _ throws(StorageError) in throw StorageError(.corrupt, "not ours") })
      var query = AuditQuery()
      for (seal, reason) in [(locked, .locked), (stranger, .corrupt), (nil, .unavailable)]
        as [(NameSeal?, StorageError.Code)]
      {
        let record = try await #require(audit.lookup(seal)(query).records.first)
        #expect(record.request?.names == .sealed(reason))
      }
      query.names.service = "example.org"
      await #expect { try await audit.lookup(locked)(query) } throws: {
        ($0 as? StorageError)?.code == .locked
      }
      await #expect { try await audit.lookup(nil)(query) } throws: {
        ($0 as? StorageError)?.code == .unavailable
      }
      try await #expect(audit.lookup(stranger)(query).records.isEmpty)
    }
  }

  @Test(arguments: [200_000, 1_153_434, 20 << 20])
  func `skips and counts lines that are not of the log, however long they are`(
    size: Int
  ) async throws {
    try await withLog { log in
      let audit = log.open()
      await audit.seal(with: testSeal)
      audit.put(0)
      await audit.flush()
      let garbage = "\n\n{}\n\u{0}\u{0}\n" + String(repeating: "x", count: size) + "\ncut off"
      try log.append(garbage)
      var page = try await audit.lookup(testSeal)(AuditQuery())
      #expect(page.records.map(\.number) == [0])
      #expect(page.skipped >= 5)
      audit.put(1)
      page = try await audit.lookup(testSeal)(AuditQuery())
      #expect(page.records.map(\.number) == [1, 0])
    }
  }

  @Test func `keeps each page within the limit of a line, whatever the log contains`() async throws
  {
    try await withLog { log in
      let audit = log.open(limit: 16 << 20)
      await audit.seal(with: testSeal)
      let name = String(repeating: "\"", count: Limits.keyPart)
      for _ in 0..<100 {
        audit.put("load", of: .sample, RequestedNames(service: name, account: name), failure: nil)
      }
      let answer = KistWire.answer(
        with: dispatch(KistWire.Endpoints(serving: .inMemory(), audit: audit.access(testSeal))))
      let reply = await answer(Line(Secret(utf8: #"{"op":"audit"}"#)))
      #expect(reply.content.count < Limits.line)
      try await #expect(all(AuditQuery(), audit.lookup(testSeal)).count == 100)
    }
  }
}
