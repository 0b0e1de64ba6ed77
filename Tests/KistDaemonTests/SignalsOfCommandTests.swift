import CLinux
import Foundation
import Glibc
import Testing

@Suite struct `Signals that are for a command` {
  // What a handler on another thread writes late is written where it was to be, and nowhere else.
  @Test func `come through descriptors that are nobody else's as long as the process runs`()
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
