#if Libsecret
  import Dispatch
  import Glibc
  import Synchronization
  import Testing

  @testable import KistLibsecret

  /// Threads that are stopped in the midst of what they do, thousands of times a second, as are those that they
  /// start: whoever else wants the processor has it first, and somebody does all the time.
  final class InterruptedThreads: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let arrivals = DispatchSemaphore(value: 0)
    private let isOver = Atomic(false)

    init() {
      for _ in 0..<sysconf(CInt(_SC_NPROCESSORS_ONLN)) {
        startThread { [self] in work() }
        for _ in 0..<2 { startThread { [self] in interrupt() } }
      }
    }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
      arrivals.signal()
    }

    /// Ends the threads, once there is nothing to do for them.
    func end() {
      isOver.store(true, ordering: .relaxed)
      arrivals.signal()
    }

    private func work() {
      // Of this thread, and of those that it starts (nice(2), "C library/kernel differences").
      nice(10)
      while true {
        arrivals.wait()
        guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { break }
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
      }
      arrivals.signal()
    }

    private func interrupt() {
      while !isOver.load(ordering: .relaxed) {
        let end = ContinuousClock.now + .microseconds(40)
        while ContinuousClock.now < end {}
        usleep(40)
      }
    }
  }

  private func startThread(_ body: @escaping () -> Void) {
    var thread = pthread_t()
    unsafe pthread_create(
      &thread, nil,
      { work in
        unsafe Work.run(work)
        return nil
      }, Work(body).retained())
    pthread_detach(thread)
  }
#endif
