internal import KistClient

/// Runs a task on the calling thread and starts no other thread.
///
/// Swift's default executor with its thread pool takes several times as long to start as a whole
/// `kist load`.
final class CallingThread: TaskExecutor {
  private let jobs = Queue<UnownedJob>()

  func enqueue(_ job: consuming ExecutorJob) { jobs.put(UnownedJob(job)) }

  /// Runs a function that ends the process instead of returning.
  static func run(_ body: @escaping @Sendable () async -> Never) -> Never {
    let thread = CallingThread()
    Task(executorPreference: thread) { await body() }
    while true {
      unsafe thread.jobs.take()?.runSynchronously(on: thread.asUnownedTaskExecutor())
    }
  }
}
