import Foundation
import KistCluster
import KistClusterSocket
import KistServer
import KistSystem
import Logging
import Testing

/// A way from a test to a cluster.
enum Way: CaseIterable {
  case direct, shared, socket

  /// Returns the cluster as it is reached in this way.
  func to(_ cluster: Cluster) throws -> Cluster {
    switch self {
    case .direct: cluster
    case .shared: cluster.sharingChanges()
    case .socket: try RunningAdapter(serving: cluster).cluster
    }
  }
}

/// A cluster that is served at a socket as long as a function of `cluster` is retained.
final class RunningAdapter: Sendable {
  /// All adapters of the tests have one thread.
  private static let executor = EventLoopExecutor()

  let directory: String
  private let serving: Task<Void, any Error>

  var path: String { directory + "/cluster.sock" }

  init(serving cluster: Cluster, maximumConnections: Int = 32) throws {
    directory = try #require(makeTemporaryDirectory("/tmp/kist-cluster-"))
    let descriptor = try listen(at: directory + "/cluster.sock")
    serving = Task {
      try await cluster.serve(
        listeningOn: descriptor, as: "adapter", maximumConnections: maximumConnections,
        on: Self.executor, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
  }

  deinit {
    serving.cancel()
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// The cluster over the socket; each of its functions retains the adapter.
  var cluster: Cluster {
    // On a busy machine, the adapter may start late.
    Cluster.remote(socketPath: path, deadline: .seconds(240))
      .delayed { _ in extendLifetime(self) }
  }

  /// Stops serving, and waits for the end of all connections.
  func stop() async throws {
    serving.cancel()
    try await serving.value
  }
}
