internal import Dispatch
internal import KistCore

/// Runs what blocks on a thread of its own, so that the caller's stays free.
///
/// A cancelled caller waits all the same: what was begun is finished.
func detached<Result: Sendable>(
  _ body: @escaping @Sendable () throws(StorageError) -> Result
) async throws(StorageError) -> Result {
  let queue = DispatchQueue(label: "kist.detached")
  let result = await withCheckedContinuation { continuation in
    queue.async { continuation.resume(returning: Swift.Result(catching: body)) }
  }
  return try result.get()
}
