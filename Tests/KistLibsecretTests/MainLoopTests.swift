#if Libsecret
  import KistKeyrings
  import Synchronization
  import Testing

  @testable import KistLibsecret

  @Suite(.timeLimit(.minutes(2)))
  struct `A main loop` {
    /// GLib locks a context once more after it was given something to do there.
    @Test func `outlives the call that gave it the last it had to do`() async throws {
      let threads = InterruptedThreads()
      defer { threads.end() }
      let end = ContinuousClock.now + .seconds(4)
      let ended = Ended()
      for _ in 0..<4 {
        Task.detached(executorPreference: threads) {
          while ContinuousClock.now < end { await OnLoop().hop() }
          ended.count.add(1, ordering: .relaxed)
        }
      }
      try await poll("all of them end") { ended.count.load(ordering: .relaxed) == 4 }
    }
  }

  private final class Ended: Sendable {
    let count = Atomic(0)
  }

  /// Whose loop ends with the last that is done on it.
  private actor OnLoop {
    private nonisolated let loop = MainLoop()

    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe loop.asUnownedSerialExecutor()
    }

    func hop() {}
  }
#endif
