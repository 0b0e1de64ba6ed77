import Foundation
import Glibc
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A program that crashes` {
  @Test(arguments: [
    // The program has started once it prints its greeting or runs a command.
    "mkfifo in; kist helper cargo <in >out & exec 3>in; until [ -s out ]; do sleep 0.01; done;"
      + " kill -SEGV $!; wait $!",
    "kistd -- sh -c 'kill -SEGV $PPID'",
  ])
  func `prints nothing from its memory, even if backtraces of Swift are enabled`(script: String)
    async throws
  {
    try await withHome { home in
      // Swift's runtime would start this program to print registers and memory.
      let backtracer = home.path + "/backtracer"
      try Data("#!/bin/sh\necho registers >&2; kill -KILL $PPID\n".utf8).write(
        to: URL(filePath: backtracer))
      let end = try await command(
        "sh",
        [
          "-c",
          "cd; chmod +x backtracer; "
            + "export SWIFT_BACKTRACE=enable=yes,swift-backtrace=\(backtracer); " + script,
        ], in: home)
      #expect(end.status == .exited(128 + SIGSEGV), "\(end.error)")
      #expect(
        !end.error.contains("Backtracing") && !end.error.contains("registers"), "\(end.error)")
    }
  }
}
