#if Libsecret
  import Dispatch
  @testable import KistLibsecret
  import Testing

  /// The server's tasks prefer its event loop, and are enqueued anew at points where others are not.
  @Suite(.timeLimit(.minutes(5)))
  struct `A task that prefers an executor of its own` {
    @Test func `gets what arrives while it begins to wait`() async throws {
      let waiting = Waiting()
      #expect(try await onQueue { try await waiting.reply() } == 7)
    }

    @Test func `enters where another leaves while it begins to wait`() async throws {
      let waiting = Waiting()
      #expect(try await onQueue { await waiting.turn() } == 7)
    }

    private func onQueue(_ body: @escaping @Sendable () async throws -> Int) async throws -> Int {
      try await Task(executorPreference: Queue()) { try await body() }.value
    }
  }

  /// Waits for what is already on its way to the loop.
  private actor Waiting {
    private nonisolated let loop = MainLoop()

    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe loop.asUnownedSerialExecutor()
    }

    func reply() async throws -> Int {
      let reply = Pending<Int>()
      let completion = unsafe reply.completion { _, _ in 7 }
      return try await during({ unsafe completeReply(nil, result: nil, completion: completion) }) {
        try await reply.value()
      }
    }

    func turn() async -> Int {
      let turnstile = Turnstile()
      await turnstile.enter()
      return await during({ turnstile.leave() }) {
        await turnstile.enter()
        return 7
      }
    }

    private func during<Failure>(
      _ event: @escaping () -> Void, _ body: () async throws(Failure) -> Int
    ) async throws(Failure) -> Int {
      let timer = loop.startTimer(after: .zero, event)
      defer { extendLifetime(timer) }
      return try await body()
    }
  }

  private final class Queue: TaskExecutor {
    private let queue = DispatchQueue(label: "preferred")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }
#endif
