package import KistCluster
internal import KistCore
internal import KistJSON
package import KistServer
internal import KistWire
package import Logging
private import Synchronization

extension Cluster {
  /// Serves the cluster to processes of the same user until the task is cancelled.
  ///
  /// The adapter of a database calls this. It admits `maximumConnections` connections at the same
  /// time, and closes an idle one for each further one. The memory of a connection is limited: it
  /// holds at most three requests and two replies of 2 MiB, and takes the next change from
  /// `changes` only when the socket has space. The last reported change and its line stay in memory.
  ///
  /// - Parameters:
  ///   - descriptor: A listening Unix socket, which `listen(at:)` makes with mode 0600. It is closed
  ///     at the end.
  ///   - program: The name of the adapter, for errors.
  ///   - executor: The event loop to serve on, such as that of the connections to the database.
  package func serve(
    listeningOn descriptor: CInt, as program: String, maximumConnections: Int = 32,
    on executor: EventLoopExecutor, logger: Logger
  ) async throws {
    let dispatch = dispatch(self)
    var server = Server(logger: logger) { _, registerStream in
      answer(with: dispatch, registerStream: registerStream, lineLimit: lineLimit)
    }
    server.program = program
    server.lineLimit = lineLimit
    server.maximumConnections = maximumConnections
    server.hintAtMaximum = "connect again, or run another \(program) at another socket"
    try await server.run(listeningOn: descriptor, on: executor)
  }
}

private func dispatch(_ cluster: Cluster) -> Dispatch {
  // A caller without these limits must not exceed what the database accepts.
  let cluster = cluster.enforcingLimits()
  let head = Operation.head.served(by: cluster.head)
  let list = Operation.list.served(by: cluster.list)
  let records = Operation.records.served(by: cluster.records)
  let commit = Operation.commit.served(by: cluster.commit)
  let lines = EventLines()
  return { request, registerStream in
    switch request.operation {
    case "head": head
    case "list": list
    case "records": records
    case "commit": commit
    case "changes":
      Operation.changes.served { request throws(StorageError) in
        let changes = try await cluster.changes(request)
        registerStream { () throws(StorageError) in
          try await changes.makeAsyncIterator().next().map(lines.line(of:))
        }
      }
    default:
      { _, _ throws(StorageError) in
        throw .refused("the operation is unknown", as: .unknownOperation)
      }
    }
  }
}

/// The lines that report events.
///
/// It keeps the last one, because the machines that follow a generation all get the same events,
/// usually at the same time.
private final class EventLines: Sendable {
  private let latest = Mutex<(event: ClusterEvent, line: Line)?>(nil)

  func line(of event: ClusterEvent) throws(StorageError) -> Line {
    if let latest = latest.withLock(\.self), latest.event == event { return latest.line }
    let text = JSONWriter.object { event.write(to: &$0) }
    guard text.count <= lineLimit else {
      throw .tooLarge("the report of a commit", limit: lineLimit, size: text.count)
    }
    let line = Line(text)
    latest.withLock { $0 = (event, line) }
    return line
  }
}
