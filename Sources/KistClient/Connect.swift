internal import KistCore
package import KistWire
private import Synchronization

/// Returns a function that sends requests over one connection to kistd.
///
/// Tasks can share it.
///
/// The connection is made at the first request. A thread of its own sends the requests one at a
/// time, in order. If the connection was closed while idle, or is found dead before any byte of a
/// request was sent, it is made again once. If it dies later, the request fails with the outcome
/// `unknown`. This function never repeats such a request, because it cannot know whether repeating
/// is safe. When the last copy of the function is released, the thread ends and the socket is
/// closed.
///
/// A `deadline` covers one whole request, including the wait for its turn. A cancelled task still
/// waits, because kistd may carry out a request that was sent.
package func connect(to socketPath: String, deadline: Duration = .seconds(60)) -> LineExchange {
  let connection = Connection(to: socketPath, deadline: deadline)
  return { line throws(StorageError) in try await connection.exchange(line) }
}

/// Returns a function that distributes requests over several connections, in turn.
///
/// kistd answers the requests of one connection one after another. It writes changes together only
/// if they come over several connections.
package func connect(to socketPath: String, connections: Int) -> LineExchange {
  guard connections > 1 else { return connect(to: socketPath) }
  let all = (0..<connections).map { _ in connect(to: socketPath) }
  let turns = Turns()
  return { line throws(StorageError) in try await all[turns.next() % connections](line) }
}

private final class Turns: Sendable {
  private let taken = Atomic(0)

  func next() -> Int { taken.wrappingAdd(1, ordering: .relaxed).oldValue }
}
