package import Foundation
import Synchronization

/// A home for one test, and the programs that run in it.
package final class Session: Sendable {
  /// A directory of mode 0700, which is removed when the session ends.
  package let folder: String
  /// The environment of programs: nothing from the user who runs the tests.
  package let environment: [String: String]
  private let warden: Warden
  private let count = Atomic<Int>(0)

  fileprivate init() throws {
    folder = "/tmp/kist-\(UUID().uuidString.prefix(8))"
    environment = [
      "HOME": folder + "/home", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin",
      "XDG_CACHE_HOME": folder + "/cache", "XDG_CONFIG_HOME": folder + "/config",
      "XDG_DATA_HOME": folder + "/data", "XDG_RUNTIME_DIR": folder + "/run",
      "XDG_STATE_HOME": folder + "/state",
    ]
    warden = try Warden(folder: folder)
    for name in ["home", "cache", "config", "data", "run", "state", "programs"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder)/\(name)", withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
  }

  /// Starts a program, which ends with the session at the latest.
  func start(
    _ program: String, _ arguments: [String], input: Data = Data(),
    environment extra: [String: String] = [:]
  ) throws -> Program {
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    return try Program(
      program, arguments, input: input,
      environment: environment.merging(extra) { $1 },
      files: "\(folder)/programs/\(number)", warden: warden)
  }

  /// Runs a program, and kills it at a time limit.
  package func run(
    _ program: String, _ arguments: [String], input: Data = Data(),
    environment: [String: String] = [:], within bound: Duration = .unlessHung
  ) async throws -> Output {
    let program = try start(program, arguments, input: input, environment: environment)
    let timer = Task {
      try await Task.sleep(for: bound)
      program.kill()
    }
    await program.waitUntilEnded()
    timer.cancel()
    return program.output
  }

  /// Kills the remaining programs and removes the folder.
  fileprivate func end() async { await warden.end() }
}

/// Runs a test in a session without a bus.
package func withSession<Result>(
  _ body: (Session) async throws -> Result
) async throws -> Result {
  let session = try Session()
  do {
    let result = try await body(session)
    await session.end()
    return result
  } catch {
    await session.end()
    throw error
  }
}
