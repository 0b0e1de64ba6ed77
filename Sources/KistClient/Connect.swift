internal import KistCore
package import KistWire
private import Synchronization

/// Returns a function that sends requests to kistd.
///
/// Tasks can share it.
///
/// Each of `threads` has a connection, which is made at its first request. It sends its requests
/// one at a time, in order. kistd answers the requests of one connection one after another. It
/// writes changes together only if they come over several connections. With 0 threads, there is one
/// connection, and each request blocks the thread of its caller.
///
/// If a connection was closed while idle, or is found dead before any byte of a request was sent,
/// it is made again once. If it dies later, the request fails with the outcome `unknown`. This
/// function never repeats such a request, because it cannot know whether repeating is safe. When
/// the last copy of the function is released, the threads end and the sockets are closed.
///
/// A `deadline` covers one whole request, including the wait for its turn. A cancelled task still
/// waits, because kistd may carry out a request that was sent.
package func connect(
  to socketPath: String, threads: Int = 1, deadline: Duration = .seconds(60)
) -> LineExchange {
  let all = (0..<max(threads, 1)).map { _ in Connection(to: socketPath, patience: deadline) }
  if threads == 0 { return { line throws(StorageError) in try all[0].replyHere(to: line) } }
  let turns = Turns()
  return { line throws(StorageError) in try await all[turns.next() % threads].reply(to: line) }
}

private final class Turns: Sendable {
  private let taken = Atomic(0)

  func next() -> Int { taken.wrappingAdd(1, ordering: .relaxed).oldValue }
}
