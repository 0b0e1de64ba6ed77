import CLinux
import Foundation
import Glibc
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `Signals for a command` {
  // What a handler on another thread writes late is written where it was to be, and nowhere else.
  @Test func `come through descriptors that are used for nothing else while the process runs`()
    async throws
  {
    await #expect(processExitsWith: .success) {
      let mailbox = kist_take_signals(1)
      let pipe = try FileManager.default.destinationOfSymbolicLink(
        atPath: "/proc/self/fd/\(mailbox)")
      #expect(kist_hand_over_signals() == 0)
      #expect(kist_give_back_signals() == 0)
      for _ in 0..<100 {
        #expect(kist_take_signals(1) == mailbox)
        kist_hand_over_signals()
        kist_give_back_signals()
        let now = try FileManager.default.destinationOfSymbolicLink(
          atPath: "/proc/self/fd/\(mailbox)")
        #expect(now == pipe)
      }
    }
  }

  @Test func `end a waiting command that they are sent to alone, and are not noted by kistd`()
    async throws
  {
    await #expect(processExitsWith: .success) {
      let mailbox = kist_take_signals(1)
      let command = try #require(forkCommand(["true"], setting: "A", to: "a"))
      kill(command.pid, SIGINT)
      // A command that went on waiting would now end with 0.
      close(command.starter)
      #expect(kist_wait_for_command(command.pid) == 128 + SIGINT)
      var isThere = pollfd(fd: mailbox, events: Int16(POLLIN), revents: 0)
      #expect(unsafe poll(&isThere, 1, 0) == 0)
    }
  }

  @Test func `do not end a waiting command that ignores them`() async throws {
    await #expect(processExitsWith: .success) {
      signal(SIGINT, SIG_IGN)
      _ = kist_take_signals(1)
      let command = try #require(forkCommand(["false"], setting: "A", to: "a"))
      kill(command.pid, SIGINT)
      #expect(kist_start_command(command.starter) == 0)
      #expect(kist_wait_for_command(command.pid) == 1)
    }
  }

  @Test func `end the process again when they are given back`() async throws {
    await #expect(processExitsWith: .signal(SIGTERM)) {
      kist_take_signals(1)
      kist_hand_over_signals()
      kist_give_back_signals()
      kill(getpid(), SIGTERM)
      while true { pause() }
    }
  }
}
