import Foundation
import KistCore
import KistWire
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(5))) struct `The chain of a damaged audit log` {
  private func verify(_ audit: AuditLog, _ storage: OpenStorage) async throws -> AuditVerdict {
    try await audit.access(storage.nameSeal).verify()
  }

  @Test(arguments: [1 << 40, (1 << 52) - 1, (1 << 53) - 1])
  func `does not go on from a forged number`(number: Int) async throws {
    try await withLog { log in
      let storage = try await log.store()
      var audit = log.open()
      await audit.seal(with: storage.nameSeal)
      await log.fill(audit)
      let last = try #require(log.lines().last)
      try log.append(last.replacing(#/"number":10/#, with: "\"number\":\(number)") + "\n")
      audit = log.open()
      await audit.seal(with: storage.nameSeal)
      audit.put(11)
      let fault = try await verify(audit, storage).fault
      #expect(fault == .init(.removed, file: "audit.jsonl", lines: 11...11))
      #expect(log.marked(storage)?.number == 11)
      // Without the forged line, only the eleven lines are missing.
      for path in [log.path, log.path + ".mark"] { unsafe unlink(path) }
      audit = log.open()
      await audit.seal(with: storage.nameSeal)
      audit.put(12)
      #expect(try await verify(audit, storage).fault == nil)
      await storage.close()
    }
  }

  @Test(arguments: [(1 << 53) + 42, .max])
  func `begins again if its mark has a number that is too large`(number: Int) async throws {
    try await withLog { log in
      let storage = try await log.store()
      let hash = try #require(ChainHash(storage.nameSeal))
      var audit = log.open()
      await audit.seal(with: storage.nameSeal)
      await log.fill(audit)
      let chain = try #require(log.marked(storage)?.chain)
      try AuditMark(path: log.path + ".mark")
        .write(AuditChain.Head(number: number, chain: chain), under: hash)
      audit = log.open()
      await audit.seal(with: storage.nameSeal)
      audit.put(11)
      #expect(try await verify(audit, storage).fault?.kind == .restarted)
      #expect(log.marked(storage)?.number == 1)
      unsafe unlink(log.path)
      audit.put(12)
      let fault = try await verify(audit, storage).fault
      #expect(fault == .init(.removed, file: "audit.jsonl", lines: 1...1, count: 1))
      await storage.close()
    }
  }

  @Test(arguments: ["", "{}\n"])
  func `shows that the older file was emptied`(content: String) async throws {
    try await withLog { log in
      let storage = try await log.store()
      let audit = log.open(limit: 64 << 10)
      await audit.seal(with: storage.nameSeal)
      try await log.fillOlderFile(audit)
      #expect(try await verify(audit, storage).fault == nil)
      try Data(content.utf8).write(to: URL(filePath: log.path + ".1"))
      let fault = try await verify(audit, storage).fault
      #expect(fault?.kind == .removed)
      #expect(fault?.file == "audit.jsonl")
      #expect((fault?.count ?? 0) > 20)
      await storage.close()
    }
  }

  @Test func `allows an older file that kistd filled while it had no key`() async throws {
    try await withLog { log in
      let storage = try await log.store()
      let audit = log.open(limit: 512 << 10)
      await audit.seal(with: storage.nameSeal)
      await log.fill(audit)
      await audit.seal(with: nil)
      try await log.fillOlderFile(audit)
      unsafe unlink(log.path + ".1")
      try await log.fillOlderFile(audit)
      await audit.seal(with: storage.nameSeal)
      audit.put(11)
      let verdict = try await verify(audit, storage)
      #expect((verdict.verified, verdict.fault == nil) == (1, true), "\(verdict)")
      await storage.close()
    }
  }

  @Test(arguments: ["", ".1"])
  func `says that a file is too large to be read`(suffix: String) async throws {
    try await withLog { log in
      let storage = try await log.store()
      let audit = log.open(limit: 64 << 10)
      await audit.seal(with: storage.nameSeal)
      await log.fill(audit)
      let path = log.path + suffix
      if suffix != "" { #expect(FileManager.default.createFile(atPath: path, contents: nil)) }
      #expect(unsafe truncate(path, 64 << 10 + 1) == 0)
      let fault = try await verify(audit, storage).fault
      #expect(fault == .init(.tooLarge, file: "audit.jsonl" + suffix, lines: 1...1))
      await storage.close()
    }
  }

  @Test func `continues after text was appended to its mark`() async throws {
    try await withLog { log in
      let storage = try await log.store()
      var audit = log.open()
      await audit.seal(with: storage.nameSeal)
      await log.fill(audit)
      let mark = try #require(FileHandle(forWritingAtPath: log.path + ".mark"))
      try mark.seekToEnd()
      try mark.write(contentsOf: Data("x".utf8))
      for number in 11...12 {
        audit = log.open()
        await audit.seal(with: storage.nameSeal)
        audit.put(number)
        await audit.flush()
      }
      #expect(try Data(contentsOf: URL(filePath: log.path + ".mark")).count == 40)
      // The first of the two began a new chain, and the second continued it.
      #expect(log.marked(storage)?.number == 2)
      await storage.close()
    }
  }

  @Test func `reports once that its mark cannot be written`() async throws {
    try await withLog { log in
      let storage = try await log.store()
      let audit = log.open()
      await audit.seal(with: storage.nameSeal)
      try FileManager.default.createDirectory(
        atPath: log.path + ".mark", withIntermediateDirectories: true)
      await log.fill(audit)
      try #expect(log.lines().count == 10)
      #expect(log.recorder.lines.count == 1)
      #expect(log.recorder.lines.first?.contains("cannot write the mark") == true)
      unsafe rmdir(log.path + ".mark")
      audit.put(11)
      #expect(try await verify(audit, storage).fault == nil)
      #expect(log.marked(storage)?.number == 11)
      await storage.close()
    }
  }

  @Test func `does not take its own newline for another program's after a full disk`()
    async throws
  {
    try await withLog { log in
      let directory = log.directory
      await #expect(processExitsWith: .success) { [directory = directory as String] in
        let log = TestLog(directory: directory)
        let storage = try await log.store()
        var audit = log.open()
        await audit.seal(with: storage.nameSeal)
        audit.put(1)
        await audit.flush()
        try log.append(#"{"time":"2026-11"#)
        audit = log.open()
        await audit.seal(with: storage.nameSeal)
        signal(SIGXFSZ, SIG_IGN)
        // Room for the newline that ends the cut line, and for nothing else.
        let size = try rlim_t(text(of: log.path).utf8.count + 1)
        var limit = rlimit(rlim_cur: size, rlim_max: .max)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        audit.put(2)
        await audit.flush()
        limit.rlim_cur = .max
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        let failures = log.recorder.lines.count
        audit.put(3)
        let verdict = try await audit.access(storage.nameSeal).verify()
        exit(failures == 1 && verdict.fault == nil && verdict.unchained == 1 ? 0 : 1)
      }
    }
  }
}
