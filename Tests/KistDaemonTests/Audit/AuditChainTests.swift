import Foundation
import KistCore
import KistFile
import KistServer
import KistTesting
import KistWire
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(5))) struct `The chain of the audit log` {
  private func verify(_ audit: AuditLog, _ storage: OpenStorage) async throws -> AuditVerdict {
    try await audit.access(storage.nameSeal).verify()
  }

  @Test(arguments: Attack.all, [false, true])
  func `shows where the log is`(attack: Attack, isRestarted: Bool) async throws {
    try await withLog { log in
      let storage = try await log.store()
      var audit = log.open(limit: 8 << 20)
      await audit.seal(with: storage.nameSeal)
      await log.fill(audit)
      #expect(try await verify(audit, storage).verified == 10)
      if isRestarted {
        await audit.seal(with: nil)
        audit = log.open(limit: 8 << 20)
        await audit.seal(with: storage.nameSeal)
      }
      var lines = try log.lines()
      attack.apply(&lines)
      try log.replace(lines, endingWith: lines.isEmpty ? "" : "\n")
      let verdict = try await verify(audit, storage)
      let expected = isRestarted ? attack.faultAfterRestart : attack.fault
      #expect(verdict.fault == expected, "\(verdict)")
      // What is written behind it hides nothing.
      audit.put(11)
      let later = try await verify(audit, storage)
      #expect((later.fault == nil) == (expected == nil), "\(later)")
      await storage.close()
    }
  }

  @Test func `continues from its first link if kistd was killed before it wrote that mark`()
    async throws
  {
    try await withLog { log in
      let storage = try await log.store()
      var audit = log.open(limit: 8 << 20)
      await audit.seal(with: storage.nameSeal)
      audit.put(1)
      await audit.flush()
      await audit.seal(with: nil)
      let chain = AuditChain(mark: AuditMark(path: log.path + ".mark"))
      chain.beginMark(under: ChainHash(storage.nameSeal))
      audit = log.open(limit: 8 << 20)
      await audit.seal(with: storage.nameSeal)
      audit.put(2)
      let verdict = try await verify(audit, storage)
      #expect(verdict.fault == nil && verdict.verified == 2, "\(verdict)")
      await storage.close()
    }
  }

  @Test func `shows lines of another store, and hides no older ones behind a long line`()
    async throws
  {
    try await withLog { log in
      let other = try await log.store("other")
      var audit = log.open(limit: 8 << 20)
      await audit.seal(with: other.nameSeal)
      audit.put(0)
      await audit.flush()
      let copied = try log.lines()[0]
      for path in [log.path, log.path + ".mark"] { unsafe unlink(path) }
      let storage = try await log.store()
      audit = log.open(limit: 8 << 20)
      await audit.seal(with: storage.nameSeal)
      await log.fill(audit)
      try log.append(copied + "\n" + String(repeating: "x", count: 1_153_434) + "\n")
      audit.put(11)
      let fault = try await verify(audit, storage).fault
      #expect(fault?.kind == .added)
      #expect(fault?.lines == 11...11)
      let page = try await audit.lookup(storage.nameSeal)(AuditQuery())
      #expect(page.records.compactMap(\.number) == [11, 10, 9, 8, 7, 6, 4, 3, 2, 1])
      #expect(page.skipped == 1)
      await storage.close()
      await other.close()
    }
  }

  @Test func `continues after a restart, through a new file and while the storage is locked`()
    async throws
  {
    try await withLog { log in
      let storage = try await log.store()
      var audit = log.open(limit: 64 << 10)
      await audit.seal(with: storage.nameSeal)
      for number in 0..<60 {
        audit.put(number)
        await audit.flush()
      }
      #expect(try await verify(audit, storage).verified == 60)
      _ = try await storage.access.lock()
      audit.put(60)
      await audit.flush()
      await #expect { try await verify(audit, storage) } throws: {
        ($0 as? StorageError)?.code == .locked
      }
      _ = try await storage.access.unlock(nil)
      #expect(try await verify(audit, storage).unchained == 1)
      audit.put(61)
      var verdict = try await verify(audit, storage)
      #expect((verdict.verified, verdict.unchained, verdict.fault == nil) == (61, 1, true))
      await audit.seal(with: nil)
      audit = log.open(limit: 64 << 10)
      await audit.seal(with: storage.nameSeal)
      for number in 62..<150 {
        audit.put(number)
        await audit.flush()
      }
      #expect(mode(of: log.path + ".1") != nil)
      #expect(mode(of: log.path + ".mark") == 0o600)
      verdict = try await verify(audit, storage)
      #expect(verdict.fault == nil, "\(verdict)")
      #expect(verdict.verified > 100)
      // Each new file goes on from the one before.
      unsafe unlink(log.path + ".1")
      #expect(try await verify(audit, storage).fault?.kind == .removed)
      await storage.close()
    }
  }

  @Test func `begins again under another key, and does not check what is before`() async throws {
    try await withLog { log in
      let before = try await log.store("before")
      let audit = log.open()
      await audit.seal(with: before.nameSeal)
      await log.fill(audit)
      let storage = try await log.store()
      await audit.seal(with: storage.nameSeal)
      #expect(try await verify(audit, storage).unchecked == 10)
      audit.put(11)
      var verdict = try await verify(audit, storage)
      #expect((verdict.unchecked, verdict.verified, verdict.fault == nil) == (10, 1, true))
      var lines = try log.lines()
      lines[10].replace("\"pid\":42", with: "\"pid\":43")
      try log.replace(lines)
      verdict = try await verify(audit, storage)
      #expect(verdict.fault != nil)
      await before.close()
      await storage.close()
    }
  }

  @Test(arguments: [false, true])
  func `shows what another program wrote after kistd wrote with the key`(isLocked: Bool)
    async throws
  {
    try await withLog { log in
      let storage = try await log.store()
      let audit = log.open()
      await audit.seal(with: storage.nameSeal)
      await log.fill(audit)
      if isLocked { _ = try await storage.access.lock() }
      try log.append(#"{"time":"2026-11-20T10:00:00.007Z","lost":3}"# + "\n")
      if isLocked { _ = try await storage.access.unlock(nil) }
      audit.put(11)
      let fault = try await verify(audit, storage).fault
      #expect(fault?.kind == .added)
      #expect(fault?.count == 1)
      await storage.close()
    }
  }

  @Test func `begins again if its mark is missing, and reports that`() async throws {
    try await withLog { log in
      let storage = try await log.store()
      var audit = log.open()
      await audit.seal(with: storage.nameSeal)
      await log.fill(audit)
      try log.replace(Array(log.lines().prefix(8)))
      unsafe unlink(log.path + ".mark")
      audit = log.open()
      await audit.seal(with: storage.nameSeal)
      audit.put(11)
      #expect(try await verify(audit, storage).fault?.kind == .restarted)
      await storage.close()
    }
  }

  /// Without the mark, these lines look like those of an earlier key.
  @Test func `counts lines as not checked if its mark is missing and each link was changed`()
    async throws
  {
    try await withLog { log in
      let storage = try await log.store()
      var audit = log.open()
      await audit.seal(with: storage.nameSeal)
      await log.fill(audit)
      let lines = try log.lines()
      try log.replace(lines.map(Self.withOtherChain))
      unsafe unlink(log.path + ".mark")
      audit = log.open()
      await audit.seal(with: storage.nameSeal)
      audit.put(11)
      let verdict = try await verify(audit, storage)
      #expect(verdict.fault == nil)
      #expect((verdict.verified, verdict.unchecked) == (1, lines.count))
      await storage.close()
    }
  }

  private static func withOtherChain(_ line: String) -> String {
    guard let start = line.range(of: "\"chain\":\"")?.upperBound else { return line }
    let first = line[start] == "A" ? "B" : "A"
    return line[..<start] + first + line[line.index(after: start)...]
  }

  @Test func `continues if kistd was killed before it wrote the mark, or within a line`()
    async throws
  {
    try await withLog { log in
      let storage = try await log.store()
      var audit = log.open()
      await audit.seal(with: storage.nameSeal)
      audit.put(1)
      await audit.flush()
      let mark = try Data(contentsOf: URL(filePath: log.path + ".mark"))
      audit.put(2)
      await audit.flush()
      try mark.write(to: URL(filePath: log.path + ".mark"))
      try log.append(#"{"time":"2026-11"#)
      audit = log.open()
      await audit.seal(with: storage.nameSeal)
      audit.put(3)
      let verdict = try await verify(audit, storage)
      #expect(verdict.fault == nil, "\(verdict)")
      #expect((verdict.verified, verdict.unchained) == (3, 1))
      await storage.close()
    }
  }

  @Test func `cannot show that the log and its mark were put back together`() async throws {
    try await withLog { log in
      let storage = try await log.store()
      var audit = log.open()
      await audit.seal(with: storage.nameSeal)
      audit.put(1)
      await audit.flush()
      let kept = try [log.path, log.path + ".mark"].map { try Data(contentsOf: URL(filePath: $0)) }
      await log.fill(audit)
      try kept[0].write(to: URL(filePath: log.path))
      try kept[1].write(to: URL(filePath: log.path + ".mark"))
      // The kistd that wrote the lines knows of them; the next one does not.
      #expect(try await verify(audit, storage).fault?.kind == .cut)
      audit = log.open()
      await audit.seal(with: storage.nameSeal)
      #expect(try await verify(audit, storage).fault == nil)
      await storage.close()
    }
  }

  @Test func `cannot be checked without a key`() async throws {
    try await withLog { log in
      let audit = log.open()
      audit.put(1)
      await #expect { try await audit.access(nil).verify() } throws: {
        ($0 as? StorageError)?.code == .unavailable
      }
    }
  }

  @Test func `is in the page about the log as the golden store makes it`() async throws {
    try await withLog { log in
      let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      let golden = root.appending(path: "Tests/KistFileTests/Golden")
      for directory in ["data", "state"] {
        try FileManager.default.createDirectory(
          atPath: log.directory + "/" + directory, withIntermediateDirectories: true,
          attributes: [.posixPermissions: 0o700])
      }
      for (name, place) in [("v1-key-file.db", "data/credentials.db"), ("v1-key-file.key", "key")] {
        let content = try Data(contentsOf: golden.appending(path: name))
        #expect(
          FileManager.default.createFile(
            atPath: log.directory + "/" + place, contents: content,
            attributes: [.posixPermissions: 0o600]))
      }
      let page = try String(contentsOf: root.appending(path: "docs/audit.md"), encoding: .utf8)
      let lines = page.components(separatedBy: "```jsonl\n")[1].components(separatedBy: "```")[0]
      try Data(lines.utf8).write(to: URL(filePath: log.path))
      let storage = try await log.store()
      let verdict = try await verify(log.open(), storage)
      #expect((verdict.verified, verdict.fault == nil) == (3, true), "\(verdict)")
      await storage.close()
    }
  }
}
