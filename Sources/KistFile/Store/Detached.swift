internal import Dispatch
internal import KistCore

/// Runs what blocks on a thread of a queue, so that the caller's thread stays free.
///
/// A cancelled caller waits all the same: what was begun is finished.
func detached<Result: Sendable>(
  on queue: DispatchQueue = DispatchQueue(label: "kist.detached"),
  _ body: @escaping @Sendable () throws(StorageError) -> Result
) async throws(StorageError) -> Result {
  let result = await withCheckedContinuation { continuation in
    queue.async { continuation.resume(returning: Swift.Result(catching: body)) }
  }
  return try result.get()
}
