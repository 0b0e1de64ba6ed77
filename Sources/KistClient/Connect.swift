internal import KistCore
package import KistWire
private import Synchronization

/// One connection to kistd, safe to share between tasks, made at the first request.
///
/// Requests are carried one at a time, in the order in which they were asked, on a thread of the
/// connection's own. A connection that was closed while it was idle, or that is found dead before
/// any byte of a request was sent, is made anew once. When it dies later, the request fails with
/// the outcome `unknown` and is never repeated here: whether it may be is known only to who knows
/// what it asks. The thread ends and the socket is closed when the last copy of the function goes.
///
/// A `deadline` covers all of one request, the wait for its turn included. A task that is cancelled
/// waits all the same, for a request that was sent may be carried out.
package func connect(to socketPath: String, deadline: Duration = .seconds(60)) -> LineExchange {
  let connection = Connection(to: socketPath, deadline: deadline)
  return { line throws(StorageError) in try await connection.exchange(line) }
}

/// So many connections to kistd, which carry requests in turn.
///
/// kistd answers what comes over one connection one after another; so only changes that come over
/// several are written together.
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
