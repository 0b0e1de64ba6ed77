internal import Glibc
internal import KistCore
internal import KistSystem
private import Synchronization

/// A queue of tasks that run on one thread.
///
/// The tasks may block this thread.
package final class TaskQueue: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  // It is posted once for each job, and once by `close`.
  private let signal = Semaphore()

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    signal.post()
  }

  /// Runs the tasks on the calling thread until the queue is closed.
  package func run() {
    while true {
      signal.wait()
      guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return }
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// Ends `run`.
  ///
  /// The queue must be empty.
  func close() { signal.post() }
}

/// A counting semaphore: sem_overview(7).
@safe
private final class Semaphore: @unchecked Sendable {
  // `sem_t` must not move in memory.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { unsafe sem_init(semaphore, 0, 0) }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  func post() { unsafe sem_post(semaphore) }

  func wait() { while unsafe sem_wait(semaphore) != 0 {} }  // It fails only with EINTR.
}

/// A thread for functions that block (pthreads(7)).
///
/// The thread starts with the first function, and ends when this value is released.
package final class BlockingThread: Sendable {
  private let tasks = TaskQueue()
  private let thread = Mutex<Thread?>(nil)

  /// The executor whose tasks run on the thread, between the functions.
  ///
  /// It runs tasks from the first function until this value is released.
  package var executor: any TaskExecutor { tasks }

  /// Makes a value without a thread.
  package init() {}

  deinit {
    // No function is running, because its caller retains this object.
    guard let thread = thread.withLock({ $0 }) else { return }
    tasks.close()
    // A task on the executor may be the last one to release this object.
    if thread.isCurrent { thread.detach() } else { thread.join() }
  }

  /// Runs a function on the thread.
  ///
  /// If several tasks call this, their functions run one after another.
  func run<Output: Sendable>(
    _ body: @escaping @Sendable () throws(StorageError) -> Output
  ) async throws(StorageError) -> Output {
    try start()
    return try await withTaskExecutorPreference(tasks) { () async throws(StorageError) in
      try await runOnPreferredThread(body)
    }
  }

  private func start() throws(StorageError) {
    try thread.withLock { thread throws(StorageError) in
      if thread != nil { return }
      thread = Thread { [tasks] in tasks.run() }
      guard thread != nil else {
        throw .refused(
          "no thread could be started: \(systemText(of: errno))", as: .unavailable,
          hint: "raise the limit on processes (ulimit -u)")
      }
    }
  }
}

/// Runs a function on the task's preferred thread, even if the caller is on another thread.
@concurrent private func runOnPreferredThread<Output: Sendable>(
  _ body: @Sendable () throws(StorageError) -> Output
) async throws(StorageError) -> Output { try body() }
