import Foundation
import KistClient
import Subprocess
import Testing

/// A `kist watch` that runs during a test.
struct Watching: Sendable {
  let processIdentifier: pid_t
  let send: @Sendable (Signal) -> Void
  fileprivate let output: String

  /// The lines that `kist watch` or its command has written so far.
  var lines: [String] { text(".out").split(separator: "\n").map(String.init) }
  var errors: String { text(".err") }

  private func text(_ ending: String) -> String {
    (try? String(contentsOfFile: output + ending, encoding: .utf8)) ?? ""
  }

  /// Waits until a condition on its lines holds; fails the test after 20 seconds.
  func until(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: ([String]) -> Bool
  ) async throws {
    for _ in 0..<4000 {
      if condition(lines) { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("not in 20 seconds: \(what): \(lines), \(errors)", sourceLocation: sourceLocation)
  }

  /// Saves a credential until the watch reports it, as nothing else shows that the watch has begun.
  func untilBegun(_ storage: UserStorage, service: String = "begin") async throws {
    let key = CredentialKey(service: service, account: "begin")
    for _ in 0..<2000 where !lines.contains(where: { $0.contains("begin") }) {
      try await storage.save(NewCredential(key: key, secret: Secret(utf8: "x")))
      try await Task.sleep(for: .milliseconds(10))
    }
  }
}

/// Runs `kist watch` in a home until the body returns, and returns its exit status.
@discardableResult
func withWatch(
  in home: Home, named name: String = "watch", _ arguments: [String] = [],
  _ body: (Watching) async throws -> Void
) async throws -> TerminationStatus {
  let output = "\(home.path)/\(name)"
  // An earlier watch of the home may have left its lines here.
  for ending in [".out", ".err"] { try? FileManager.default.removeItem(atPath: output + ending) }
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

/// Waits until a process has ended, even if its parent has not waited for it.
func untilEnded(_ process: pid_t) async throws {
  for _ in 0..<4000 {
    let words = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
    if words?.isEmpty ?? true { return }
    try await Task.sleep(for: .milliseconds(5))
  }
  Issue.record("process \(process) has not ended in 20 seconds")
}
