import Foundation
import Subprocess

/// An empty home directory for one test, removed when the test ends.
struct Home: Sendable {
  let path: String
  /// The address of the session bus that the programs use, if any.
  var busAddress: String?
  /// Further variables of the programs.
  var variables: [String: String] = [:]
  /// Whether kist starts kistd.
  var startsKistd = false

  var runtime: String { path + "/run" }
  var socket: String { runtime + "/kist/kist.sock" }
  var store: String { path + "/.local/share/kist/credentials.db" }
  var keyFile: String { path + "/.local/state/kist/key" }
  /// The log of a kistd in the background.
  var daemonLog: String { path + "/.local/state/kist/kistd.log" }

  /// The environment of the programs: nothing from the user who runs the tests, except the options
  /// of sanitizers.
  var environment: Environment {
    var variables: [Environment.Key: String] = [
      "HOME": path, "XDG_RUNTIME_DIR": runtime, "LANG": "C.UTF-8",
      "PATH": programs + ":/usr/bin:/bin",
      "KIST_AUTOSTART": startsKistd ? "1" : "0",
    ]
    variables["DBUS_SESSION_BUS_ADDRESS"] = busAddress
    for (name, value) in self.variables { variables[.init(stringLiteral: name)] = value }
    for name in ["ASAN_OPTIONS", "TSAN_OPTIONS"] {
      variables[.init(stringLiteral: name)] = ProcessInfo.processInfo.environment[name]
    }
    return .custom(variables)
  }
}

/// The directory of the programs under test: `KIST_PROGRAMS`, or the directory of this test bundle.
let programs =
  ProcessInfo.processInfo.environment["KIST_PROGRAMS"] ?? Bundle.main.bundleURL.path

/// Runs a test in its own home.
@discardableResult
func withHome<Result>(_ body: (Home) async throws -> Result) async throws -> Result {
  let home = Home(path: "/tmp/kist-\(UUID().uuidString.prefix(8))")
  let manager = FileManager.default
  try manager.createDirectory(
    atPath: home.runtime, withIntermediateDirectories: true,
    attributes: [.posixPermissions: 0o700])
  defer { try? manager.removeItem(atPath: home.path) }
  return try await body(home)
}
