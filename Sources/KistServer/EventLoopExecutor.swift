package import NIOCore
internal import NIOPosix

/// Runs tasks on an event loop, so that all work for a request or a change stays on one thread.
package final class EventLoopExecutor: TaskExecutor {
  /// The event loop.
  package let loop: any EventLoop

  /// Makes an executor of an event loop.
  init(_ loop: any EventLoop) { self.loop = loop }

  /// Makes an event loop on a thread of its own, which ends with the process.
  package convenience init() {
    self.init(MultiThreadedEventLoopGroup(numberOfThreads: 1).next())
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
