import Foundation
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `kist inject` {
  @Test func `leaves no file behind if it is killed`() async throws {
    let folder = "/dev/shm/kist-\(UUID())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withHome { home in
      // The kernel kills kist with SIGXFSZ when the file exceeds 512 KiB. A sanitizer writes as
      // much at the start.
      let script = "ulimit -f 1024; exec kist inject --out \(folder)/out"
      try await withDaemon(in: home) { _ in
        let end = try await command(
          "sh", ["-c", script], in: home, input: String(repeating: "x", count: 800 << 10))
        #expect(end.status == .signaled(SIGXFSZ), "\(end.error)")
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
  }
}
