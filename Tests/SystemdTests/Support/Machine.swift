import Foundation
import Subprocess
import Testing

/// A booted system with the checkout at /kist and two users, each with a running manager.
struct Machine: Sendable {
  enum User: String, CaseIterable, Sendable { case root, alice, bob }

  /// The process ID, outside of the machine, of its PID 1.
  let leader: String

  /// Runs a bash script in the machine, and kills it after a minute.
  func shell(
    _ script: String, as user: User = .alice, input: String = ""
  ) async throws -> ShellEnd {
    let end = try await run(
      .name("nsenter"),
      arguments: .init(
        ["--target", leader, "--all", "--", "timeout", "--signal=KILL", "60"]
          + ["setpriv", "--reuid", user.rawValue, "--regid", user.rawValue, "--init-groups"]
          + ["env", "--ignore-environment", "--chdir=\(user.home)"] + user.environment
          + ["bash", "-c", script]),
      input: .string(input), output: .string(limit: 16 << 20), error: .string(limit: 1 << 20))
    var status: Int?
    if case .exited(let code) = end.terminationStatus { status = Int(code) }
    return ShellEnd(status: status, output: end.standardOutput, error: end.standardError)
  }

  /// Runs a script that must succeed, and returns its output without the last newline.
  @discardableResult
  func printed(
    by script: String, as user: User = .alice, input: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> String {
    let end = try await shell(script, as: user, input: input)
    try #require(
      end.status == 0, "\(script)\n\(end.output)\n\(end.error)",
      sourceLocation: sourceLocation)
    return end.output.hasSuffix("\n") ? String(end.output.dropLast()) : end.output
  }

  /// Returns once a command succeeds; fails the test after a minute.
  func wait(
    until command: String, as user: User = .alice,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let script = "until \(command); do sleep 0.05; done >/dev/null 2>&1"
    try await printed(by: script, as: user, sourceLocation: sourceLocation)
  }
}

/// The exit status and the output of a script.
struct ShellEnd: Sendable {
  /// The exit status; `nil` if a signal ended the script.
  let status: Int?
  let output: String
  let error: String
}

extension Machine.User {
  var home: String { self == .root ? "/root" : "/home/\(rawValue)" }
  var identifier: Int { self == .root ? 0 : self == .alice ? 1000 : 1001 }

  /// The environment of the user's programs in a session.
  fileprivate var environment: [String] {
    let runtime = "/run/user/\(identifier)"
    return [
      "HOME=\(home)", "USER=\(rawValue)", "LANG=C.UTF-8",
      "PATH=\(home)/.local/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ]
      + (self == .root
        ? [] : ["XDG_RUNTIME_DIR=\(runtime)", "DBUS_SESSION_BUS_ADDRESS=unix:path=\(runtime)/bus"])
  }
}

/// Limits the machines at once: a kernel has instances of inotify(7) for about ten.
private let turns = Turns(3)

/// Runs a test on its own machine, which is removed when the test ends.
func withMachine(_ systemd: Systemd, _ body: (Machine) async throws -> Void) async throws {
  await turns.take()
  let end: Result<Void, any Error>
  do { end = .success(try await boot(systemd, body)) } catch { end = .failure(error) }
  await turns.give()
  try end.get()
}

private func boot(_ systemd: Systemd, _ body: (Machine) async throws -> Void) async throws {
  let script = URL(filePath: #filePath).appending(path: "../../../../scripts/systemd-machine")
  let end = try await run(
    .name("bash"), arguments: [script.standardized.path, try #require(systemd.tree)],
    input: .inputWriter, output: .sequence, error: .string(limit: 1 << 20)
  ) { execution -> Result<Void, any Error> in
    do {
      var lines = execution.standardOutput.strings().makeAsyncIterator()
      guard let leader = try await lines.next() else { return .success(()) }
      try await body(Machine(leader: leader))
      return .success(())
    } catch {
      return .failure(error)
    }
  }
  #expect(end.terminationStatus == .exited(0), "\(end.standardError)")
  try end.closureResult.get()
}
