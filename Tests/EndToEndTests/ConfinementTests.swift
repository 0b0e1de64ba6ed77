import CLinux
import Foundation
import KistClient
import KistCore
import KistTesting
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `kistd started by hand` {
  @Test func `runs each thread with a system call filter and without new privileges`() async throws
  {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let storage = daemon.connect()
        try await storage.save(
          NewCredential(key: CredentialKey(service: "s", account: "a"), secret: Secret(utf8: "x")))
        let threads = try threadStates(of: daemon.processIdentifier)
        #expect(threads.count > 1)
        #expect(threads.allSatisfy { $0 == ["NoNewPrivs:\t1", "Seccomp:\t2"] }, "\(threads)")
      }
    }
  }

  @Test(.needs("Landlock in the kernel", kist_landlock_version() > 0))
  func `logs that seccomp and Landlock confine it`() async throws {
    try await withHome { home in
      let end = try await withDaemon(in: home, ["--log-level", "debug"]) { _ in }
      #expect(
        end.log.contains("kistd: debug: confined calls=seccomp files=Landlock "), "\(end.log)")
    }
  }

  @Test func `unlocks its store and opens it again after SIGHUP`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let storage = daemon.connect()
        let key = CredentialKey(service: "s", account: "a")
        try await storage.save(NewCredential(key: key, secret: Secret(utf8: "x")))
        let access = StorageAccess.remote(socketPath: home.socket)
        #expect(try await access.lock().isLocked)
        #expect(try await !access.unlock(nil).isLocked)
        // The key file is a new file, created after kistd confined itself.
        let manager = FileManager.default
        try manager.copyItem(atPath: home.keyFile, toPath: home.keyFile + ".copy")
        try manager.removeItem(atPath: home.keyFile)
        try manager.moveItem(atPath: home.keyFile + ".copy", toPath: home.keyFile)
        daemon.send(.terminalClosed)
        let loaded = try await storage.load(LoadRequest(key: key))
        #expect(loaded.secret == Secret(utf8: "x"))
      }
    }
  }

  @Test func `does not confine the command that it runs`() async throws {
    try await withHome { home in
      let end = try await command(
        "kistd", ["--", "grep", "-E", "NoNewPrivs|Seccomp:", "/proc/self/status"], in: home)
      #expect(end.output == "NoNewPrivs:\t0\nSeccomp:\t0\n", "\(end.error)")
      #expect(end.status == .exited(0))
    }
  }
}

/// The confinement of each thread of a process, from /proc.
private func threadStates(of pid: pid_t) throws -> [[String]] {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task").map { thread in
    try String(contentsOfFile: "/proc/\(pid)/task/\(thread)/status", encoding: .utf8)
      .split(separator: "\n").map(String.init)
      .filter { $0.hasPrefix("NoNewPrivs:") || $0.hasPrefix("Seccomp:") }
  }
}
