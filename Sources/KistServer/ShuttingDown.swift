internal import Dispatch
internal import NIOCore
internal import NIOPosix

extension MultiThreadedEventLoopGroup {
  /// Ends the event loops, and waits for their threads.
  ///
  /// By default, NIO does this on a global queue of libdispatch. For such a queue, libdispatch reads
  /// files in /proc, and ends the process with SIGILL if it cannot open them, for example because of
  /// the limit of open files. It does not do this for a queue of our own.
  func shutDown() async throws {
    try await withCheckedThrowingContinuation { continuation in
      shutdownGracefully(queue: DispatchQueue(label: "kist.shutdown")) { error in
        continuation.resume(with: error.map { .failure($0) } ?? .success(()))
      }
    }
  }
}
