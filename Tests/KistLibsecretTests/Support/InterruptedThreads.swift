#if Libsecret
  import Dispatch
  import Foundation
  import Synchronization

  /// Threads that are stopped in the midst of what they do, thousands of times a second, as are those that they
  /// start: whoever else wants the processor has it first, and somebody does all the time.
  final class InterruptedThreads: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let arrivals = DispatchSemaphore(value: 0)
    private let isOver = Atomic(false)

    init() {
      for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
        Thread { [self] in work() }.start()
        for _ in 0..<2 { Thread { [self] in interrupt() }.start() }
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
#endif
