import Foundation
import InMemoryLogging
import KistCore
import KistServer
import KistWire
import Logging

typealias Serve = @Sendable (Peer, @escaping RegisterStream) -> @Sendable (Line) async -> Line

/// Answers each line with itself.
let echo: Serve = { _, _ in { $0 } }

/// Answers as kistd does, from a storage.
func serve(_ storage: OpenStorage) -> Serve {
  let dispatch = dispatch(Endpoints(serving: storage))
  return { _, registerStream in answer(with: dispatch, registerStream: registerStream) }
}

/// A server on a socket in a directory of its own.
struct RunningServer: Sendable {
  let path: String
  fileprivate let log: InMemoryLogHandler
  fileprivate let serving: Task<Void, any Error>

  func connect() throws -> RawClient { try RawClient(connectingTo: path) }

  /// The metadata of each line that was logged.
  var logged: [[String: String]] {
    log.entries.map { $0.metadata.mapValues { "\($0)" } }
  }

  /// Tells the server to stop, and does not wait for it.
  func stop() { serving.cancel() }

  /// Waits until it has stopped.
  func ended() async throws { try await serving.value }
}

/// Runs a server for the length of a call.
func withServer(
  serve: @escaping Serve = echo, configured: (inout Server) -> Void = { _ in },
  _ body: (RunningServer) async throws -> Void
) async throws {
  let log = InMemoryLogHandler()
  let logger = Logger(label: "test") { _ in log }
  var server = Server(logger: logger, serve: serve)
  configured(&server)
  try await withDirectory { directory in
    let path = directory + "/kist.sock"
    let descriptor = try listen(at: path)
    let running = RunningServer(
      path: path, log: log,
      serving: Task { [server] in try await server.run(listeningOn: descriptor) })
    do { try await body(running) } catch {
      running.stop()
      throw error
    }
    running.stop()
    try await running.ended()
  }
}

/// Lends a new directory of mode 0700 for the length of a call.
func withDirectory(_ body: (String) async throws -> Void) async throws {
  let directory = "/tmp/kist-\(UUID().uuidString.prefix(8))"
  try FileManager.default.createDirectory(
    atPath: directory, withIntermediateDirectories: false,
    attributes: [.posixPermissions: 0o700])
  defer { try? FileManager.default.removeItem(atPath: directory) }
  try await body(directory)
}

extension Line {
  init(_ text: String) { self.init(Secret(utf8: text)) }
  var text: String {
    content.withBytes { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
  }
}
