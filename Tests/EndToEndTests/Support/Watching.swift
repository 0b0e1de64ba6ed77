import Foundation
import KistClient
import Subprocess
import Testing

/// A `kist watch` that runs for the length of a test.
struct Watching: Sendable {
  let processIdentifier: pid_t
  let send: @Sendable (Signal) -> Void
  fileprivate let output: String

  /// The lines that it, or its command, has written up to now.
  var lines: [String] { text(".out").split(separator: "\n").map(String.init) }
  var errors: String { text(".err") }

  private func text(_ ending: String) -> String {
    (try? String(contentsOfFile: output + ending, encoding: .utf8)) ?? ""
  }

  /// Waits until its lines are as they are to be.
  func until(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ areThere: ([String]) -> Bool
  ) async throws {
    for _ in 0..<4000 {
      if areThere(lines) { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("not in 20 seconds: \(what): \(lines), \(errors)", sourceLocation: sourceLocation)
  }

  /// Saves a credential until that is told, since nothing else tells that the watch has begun.
  func untilBegun(_ storage: UserStorage, service: String = "begin") async throws {
    let key = CredentialKey(service: service, account: "begin")
    for _ in 0..<2000 where !lines.contains(where: { $0.contains("begin") }) {
      try await storage.save(NewCredential(key: key, secret: Secret(utf8: "x")))
      try await Task.sleep(for: .milliseconds(10))
    }
  }
}

/// Runs `kist watch` in a home until the body is done, and tells how it ended.
@discardableResult
func withWatch(
  in home: Home, named name: String = "watch", _ arguments: [String] = [],
  _ body: (Watching) async throws -> Void
) async throws -> TerminationStatus {
  let output = "\(home.path)/\(name)"
  let words = [
    "-c", #"out=$1; shift; exec kist watch "$@" > "$out.out" 2> "$out.err""#, "sh", output,
  ]
  return try await run(
    .name("sh"), arguments: .init(words + arguments), environment: home.environment,
    input: .none, output: .discarded, error: .discarded
  ) { execution in
    let watching = Watching(
      processIdentifier: execution.processIdentifier.value,
      send: { try? execution.send(signal: $0) }, output: output)
    defer { watching.send(.terminate) }
    try await body(watching)
  }.terminationStatus
}

/// Waits until a process has ended, though nobody may have waited for it.
func untilEnded(_ process: pid_t) async throws {
  for _ in 0..<4000 {
    let words = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
    if words?.isEmpty ?? true { return }
    try await Task.sleep(for: .milliseconds(5))
  }
  Issue.record("process \(process) has not ended in 20 seconds")
}
