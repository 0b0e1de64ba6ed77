internal import Dispatch
internal import KistCore

/// Runs a blocking function on its own thread, so that the caller's thread stays free.
///
/// A cancelled caller still waits, because the function always runs to its end.
func detached<Result: Sendable>(
  _ body: @escaping @Sendable () throws(StorageError) -> Result
) async throws(StorageError) -> Result {
  let queue = DispatchQueue(label: "kist.detached")
  let result = await withCheckedContinuation { continuation in
    queue.async { continuation.resume(returning: Swift.Result(catching: body)) }
  }
  return try result.get()
}
