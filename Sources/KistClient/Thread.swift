internal import Glibc
internal import KistCore
internal import KistSystem

/// A thread that runs one function to its end: pthreads(7).
struct Thread: Sendable {
  private let handle: pthread_t

  init(_ body: @escaping @Sendable () -> Void) throws(StorageError) {
    let work = unsafe Unmanaged.passRetained(Work(body))
    var handle = pthread_t()
    let status = unsafe pthread_create(
      &handle, nil,
      { work in
        unsafe Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    guard status == 0 else {
      unsafe work.release()
      throw StorageError(
        .unavailable, "no thread could be started: \(systemText(of: status))",
        hint: "raise the limit on processes (ulimit -u)", outcome: .unchanged)
    }
    self.handle = handle
  }

  /// Waits for its end.
  ///
  /// Call this once.
  func join() { pthread_join(handle, nil) }
}

private final class Work {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
