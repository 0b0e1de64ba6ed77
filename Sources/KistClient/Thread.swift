internal import Glibc
internal import KistCore
internal import KistSystem
private import Synchronization

/// A queue of tasks for one thread, which the tasks may block.
package final class TaskQueue: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  // One post for each job, and one for the end.
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

  /// Ends `run`; no task may be in the queue any more.
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

  func wait() { while unsafe sem_wait(semaphore) != 0 {} }  // Only EINTR can fail it.
}

/// A thread for functions that block: pthreads(7).
///
/// It starts at the first one, and ends when this value is released.
final class Thread: Sendable {
  private let tasks = TaskQueue()
  private let handle = Mutex<pthread_t?>(nil)

  deinit {
    // No function is running, because its caller retains this object.
    guard let handle = handle.withLock({ $0 }) else { return }
    tasks.close()
    pthread_join(handle, nil)
  }

  /// Runs a function; functions of several tasks run one after another.
  func run<Output: Sendable>(
    _ body: @escaping @Sendable () throws(StorageError) -> Output
  ) async throws(StorageError) -> Output {
    try start()
    return try await withTaskExecutorPreference(tasks) { () async throws(StorageError) in
      try await runHere(body)
    }
  }

  private func start() throws(StorageError) {
    try handle.withLock { handle throws(StorageError) in
      if handle != nil { return }
      let tasks = unsafe Unmanaged.passRetained(tasks)
      var started = pthread_t()
      let status = unsafe pthread_create(
        &started, nil,
        { tasks in
          unsafe Unmanaged<TaskQueue>.fromOpaque(tasks!).takeRetainedValue().run()
          return nil
        }, tasks.toOpaque())
      guard status == 0 else {
        unsafe tasks.release()
        throw StorageError(
          .unavailable, "no thread could be started: \(systemText(of: status))",
          hint: "raise the limit on processes (ulimit -u)", outcome: .unchanged)
      }
      handle = started
    }
  }
}

/// Runs a function where the task prefers to run, and not where its caller runs.
@concurrent private func runHere<Output: Sendable>(
  _ body: @Sendable () throws(StorageError) -> Output
) async throws(StorageError) -> Output { try body() }
