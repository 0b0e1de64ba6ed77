internal import KistClient

/// Runs a task on the thread that asks for it, and starts no other.
///
/// The executor that Swift would start otherwise, with its pool of threads, takes several times as
/// long as the whole of a `kist load`.
final class CallingThread: TaskExecutor {
  private let jobs = Queue<UnownedJob>()

  func enqueue(_ job: consuming ExecutorJob) { jobs.put(UnownedJob(job)) }

  /// Carries out a function that does not return to its caller, but ends the process.
  static func run(_ body: @escaping @Sendable () async -> Never) -> Never {
    let thread = CallingThread()
    Task(executorPreference: thread) { await body() }
    while true {
      unsafe thread.jobs.take()?.runSynchronously(on: thread.asUnownedTaskExecutor())
    }
  }
}
