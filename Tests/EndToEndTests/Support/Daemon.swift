import Foundation
import KistClient
import Subprocess
import Testing

/// A kistd that runs during a test.
struct Daemon: Sendable {
  let home: Home
  let processIdentifier: pid_t
  let send: @Sendable (Signal) -> Void

  /// Returns the storage of kistd over a new connection.
  func connect() -> UserStorage { .remote(socketPath: home.socket) }
}

/// The exit status and the log of a kistd.
struct DaemonEnd {
  let status: TerminationStatus
  let log: String
}

/// Runs kistd in a home until the body returns, and then sends it SIGTERM if it still runs.
///
/// - Parameters:
///   - input: the standard input of kistd.
///   - files: the limit of open files; by default that of this process.
@discardableResult
func withDaemon(
  in home: Home, _ arguments: [String] = [], input: String = "", files: Int? = nil,
  waitUntilReady: Bool = true,
  _ body: (Daemon) async throws -> Void
) async throws -> DaemonEnd {
  let words = (files.map { ["prlimit", "--nofile=\($0)"] } ?? []) + ["kistd"] + arguments
  let end = try await run(
    .name(words[0]), arguments: .init(Array(words.dropFirst())), environment: home.environment,
    input: .string(input), output: .discarded, error: .string(limit: 1 << 20)
  ) { execution in
    let daemon = Daemon(home: home, processIdentifier: execution.processIdentifier.value) {
      try? execution.send(signal: $0)
    }
    defer { daemon.send(.terminate) }
    if waitUntilReady { try await waitUntilAnswering(home) }
    try await body(daemon)
  }
  return DaemonEnd(status: end.terminationStatus, log: end.standardError)
}

/// Returns once the kistd of a home answers; fails the test after ten seconds.
func waitUntilAnswering(_ home: Home) async throws {
  let access = StorageAccess.remote(socketPath: home.socket)
  for _ in 0..<2000 {
    if (try? await access.status()) != nil { return }
    try await Task.sleep(for: .milliseconds(5))
  }
  Issue.record("kistd did not answer within ten seconds")
}
