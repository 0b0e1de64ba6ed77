internal import Glibc

/// Runs a blocking body on a separate thread, because the pool of the tasks has few.
func startThread(_ body: @escaping @Sendable () -> Void) {
  final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var thread = pthread_t()
  let argument = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
  let code = unsafe pthread_create(
    &thread, nil,
    { argument in
      unsafe Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().body()
      return nil
    }, argument)
  precondition(code == 0, "the system gives no more threads")
  pthread_detach(thread)
}
