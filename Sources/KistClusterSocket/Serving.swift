package import KistCluster
internal import KistCore
internal import KistJSON
internal import KistServer
internal import KistWire
package import Logging

extension Cluster {
  /// Serves the cluster to processes of the same user until the task is cancelled.
  ///
  /// The adapter of a database calls this. It admits `maximumConnections` connections at the same
  /// time, and closes an idle one for each further one. The memory of a connection is limited: it
  /// holds at most three requests and two replies of 2 MiB, and takes the next change from
  /// `changes` only when the socket has space.
  ///
  /// - Parameters:
  ///   - descriptor: A listening Unix socket, which `listen(at:)` makes with mode 0600. It is closed
  ///     at the end.
  ///   - program: The name of the adapter, for errors.
  package func serve(
    listeningOn descriptor: CInt, as program: String, maximumConnections: Int = 32, logger: Logger
  ) async throws {
    let dispatch = dispatch(self)
    var server = Server(logger: logger) { _, registerStream in
      answer(with: dispatch, registerStream: registerStream, lineLimit: lineLimit)
    }
    server.program = program
    server.lineLimit = lineLimit
    server.maximumConnections = maximumConnections
    try await server.run(listeningOn: descriptor)
  }
}

private func dispatch(_ cluster: Cluster) -> Dispatch {
  // A caller without these limits must not exceed what the database accepts.
  let cluster = cluster.enforcingLimits()
  let head = Operation.head.served(by: cluster.head)
  let list = Operation.list.served(by: cluster.list)
  let records = Operation.records.served(by: cluster.records)
  let commit = Operation.commit.served(by: cluster.commit)
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
          try await changes.makeAsyncIterator().next().map(line(reporting:))
        }
      }
    default:
      { _, _ throws(StorageError) in
        throw .refused("the operation is unknown", as: .unknownOperation)
      }
    }
  }
}

/// Returns the line that reports an event.
@Sendable private func line(reporting event: ClusterEvent) throws(StorageError) -> Line {
  let text = JSONWriter.object { event.write(to: &$0) }
  guard text.count <= lineLimit else {
    throw .tooLarge("the report of a commit", limit: lineLimit, size: text.count)
  }
  return Line(text)
}
