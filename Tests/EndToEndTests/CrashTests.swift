import Foundation
import Glibc
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A program that crashes` {
  @Test(arguments: [
    // It is past its start when it says hello, and when it starts a command.
    "mkfifo in; kist helper cargo <in >out & exec 3>in; until [ -s out ]; do sleep 0.01; done;"
      + " kill -SEGV $!; wait $!",
    "kistd -- sh -c 'kill -SEGV $PPID'",
  ])
  func `says nothing of its memory, even where Swift is asked to tell of a crash`(script: String)
    async throws
  {
    try await withHome { home in
      // What Swift's runtime would start, to print registers and the memory behind them.
      let teller = home.path + "/teller"
      try Data("#!/bin/sh\necho registers >&2; kill -KILL $PPID\n".utf8).write(
        to: URL(filePath: teller))
      let end = try await command(
        "sh",
        [
          "-c",
          "cd; chmod +x teller; export SWIFT_BACKTRACE=enable=yes,swift-backtrace=\(teller); "
            + script,
        ], in: home)
      #expect(end.status == .exited(128 + SIGSEGV), "\(end.error)")
      #expect(
        !end.error.contains("Backtracing") && !end.error.contains("registers"), "\(end.error)")
    }
  }
}
