import Foundation
import KistClient
import Subprocess
import Testing

/// A kistd that runs for the length of a test.
struct Daemon: Sendable {
  let home: Home
  let processIdentifier: pid_t
  let send: @Sendable (Signal) -> Void

  /// The daemon's storage over a connection of its own.
  func connect() -> UserStorage { .remote(socketPath: home.socket) }
}

/// How a daemon ended.
struct DaemonEnd {
  let status: TerminationStatus
  let log: String
}

/// Runs kistd in a home until the body is done, and ends it with SIGTERM if it still runs then.
///
/// - Parameters:
///   - input: what it reads from standard input.
///   - files: how many files it may open, if not as many as this process.
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

/// Returns once the daemon of a home answers; fails the test after ten seconds.
func waitUntilAnswering(_ home: Home) async throws {
  let access = StorageAccess.remote(socketPath: home.socket)
  for _ in 0..<2000 {
    if (try? await access.status()) != nil { return }
    try await Task.sleep(for: .milliseconds(5))
  }
  Issue.record("kistd did not answer within ten seconds")
}
