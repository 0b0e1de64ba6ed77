import Foundation
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The keys of an encrypted file` {
  @Test func `cause a warning in the log, the status and kist doctor if they may be swapped`()
    async throws
  {
    try await withHome { home in
      let end = try await serve("kist status; kist doctor", memoryLimit: "0:0", in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      #expect(end.output.contains("\nkeysInRAM: false\n"), "\(end.output)")
      #expect(end.output.contains("\nnote\tmemory\tthe keys may be written to swap: "))
      #expect(end.error.contains("warning: the keys may be written to swap: "), "\(end.error)")
    }
  }

  @Test func `stay in RAM if only the hard limit allows it, and a command keeps its own limit`()
    async throws
  {
    try await withHome { home in
      let end = try await serve(
        "bash -c 'ulimit -l'; kist status; kist doctor", memoryLimit: "0:1048576", in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      #expect(end.output.hasPrefix("0\n"), "\(end.output)")
      #expect(end.output.contains("\nkeysInRAM: true\n"), "\(end.output)")
      #expect(!end.output.contains("\tmemory\t"))
      #expect(!end.error.contains("swap"), "\(end.error)")
    }
  }

  /// Runs a script with its own kistd, under a soft and a hard limit of locked memory.
  ///
  /// The limits apply to root, too.
  private func serve(
    _ script: String, memoryLimit: String, in home: Home
  ) async throws -> CommandResult {
    let limited = ["prlimit", "--memlock=\(memoryLimit)", "kistd", "--", "sh", "-c", script]
    let words = (geteuid() == 0 ? ["setpriv", "--bounding-set=-ipc_lock"] : []) + limited
    return try await command(words[0], Array(words.dropFirst()), in: home)
  }
}
