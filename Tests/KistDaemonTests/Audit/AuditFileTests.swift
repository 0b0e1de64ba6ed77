import Foundation
import KistCore
import KistWire
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The file of the audit log` {
  @Test func `does not exceed its limit, and loses no line of the two files that are kept`()
    async throws
  {
    try await withLog { log in
      let file = AuditFile(path: log.path, limit: 2000)
      for number in 0..<500 {
        try file.append("line \(number)\n")
        let sizes = [file.path, file.olderPath].map { (try? text(of: $0).utf8.count) ?? 0 }
        #expect(sizes.allSatisfy { $0 <= 1000 })
      }
      let kept = try (text(of: file.olderPath) + text(of: file.path)).split(separator: "\n")
      #expect(kept == (500 - kept.count..<500).map { "line \($0)" })
      #expect(kept.count > 100)
      #expect(mode(of: file.olderPath) == 0o600)
    }
  }

  @Test func `has an incomplete line on a line of its own`() async throws {
    try await withLog { log in
      let file = AuditFile(path: log.path, limit: 2000)
      try file.append("whole\ncut")
      try file.append("next\n")
      try #expect(log.lines() == ["whole", "cut", "next"])
    }
  }

  @Test func `is made again if it was removed, and again only for this user`()
    async throws
  {
    try await withLog { log in
      let file = AuditFile(path: log.path, limit: 2000)
      try file.append("a\n")
      unsafe unlink(log.path)
      try file.append("b\n")
      unsafe chmod(log.path, 0o644)
      try file.append("c\n")
      try #expect(log.lines() == ["b", "c"])
      #expect(mode(of: log.path) == 0o600)
    }
  }

  @Test(arguments: ["link", "directory", "pipe"])
  func `is not written if the path is not a file`(kind: String) async throws {
    try await withLog { log in
      let file = AuditFile(path: log.path, limit: 2000)
      try file.append("a\n")
      let target = log.directory + "/target"
      unsafe rename(log.path, target)
      switch kind {
      case "link": unsafe symlink(target, log.path)
      case "directory": unsafe mkdir(log.path, 0o700)
      default: unsafe mkfifo(log.path, 0o600)
      }
      #expect(throws: StorageError.self) { try file.append("b\n") }
      try #expect(text(of: target) == "a\n")
    }
  }

  @Test(.timeLimit(.minutes(5)))
  func `is not waited for forever while another program has it locked`() async throws {
    try await withLog { log in
      let file = AuditFile(path: log.path, limit: 2000)
      try file.append("a\n")
      let other = unsafe open(log.path, O_RDONLY | O_CLOEXEC)
      defer { close(other) }
      #expect(flock(other, LOCK_EX) == 0)
      #expect(throws: StorageError.self) { try file.append("b\n") }
      #expect(flock(other, LOCK_UN) == 0)
      try file.append("c\n")
      try #expect(log.lines() == ["a", "c"])
    }
  }

  @Test func `is unchanged if the disk is full`() async throws {
    try await withLog { log in
      let path = log.path
      await #expect(processExitsWith: .success) { [path = path as String] in
        let file = AuditFile(path: path, limit: 1 << 20)
        try file.append("whole\n")
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: 100, rlim_max: 100)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        do {
          try file.append(String(repeating: "a", count: 500))
          exit(1)
        } catch { exit(0) }
      }
      try #expect(text(of: path) == "whole\n")
    }
  }

  @Test func `is at least half full before the next one begins, whatever comes at once`()
    async throws
  {
    try await withLog { log in
      let limit = 64 << 10
      let audit = log.open(limit: limit)
      for count in stride(from: 10, to: 400, by: 30) {
        for number in 0..<count { audit.put(number) }
        await audit.flush()
        let full = try? FileManager.default.attributesOfItem(atPath: log.path + ".1")[.size] as? Int
        #expect((full ?? limit) >= limit / 4, "\(count) at once")
      }
      #expect(FileManager.default.fileExists(atPath: log.path + ".1"))
    }
  }
}
