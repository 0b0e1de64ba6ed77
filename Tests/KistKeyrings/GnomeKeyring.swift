import Foundation
import Glibc
import Synchronization

/// gnome-keyring-daemon on a private bus, without a prompter.
package final class GnomeKeyring: Sendable {
  /// The state of the login keyring at the start of the daemon.
  package enum Start: Sendable, Equatable {
    /// Unlocked with a password, which also protects a new keyring.
    case password(String)
    /// Stored unencrypted, as for a user who left the password blank. It is reported as locked
    /// until a client unlocks it, which needs no prompt.
    case blankPassword
    /// Existing, but locked.
    case locked
    /// Without any collection.
    case none
  }

  private let bus: PrivateBus
  private let daemon: Mutex<Program>
  private let start: Start

  /// Starts a daemon and returns once its collection has the requested state.
  package init(_ start: Start, on bus: PrivateBus) async throws {
    self.bus = bus
    self.start = start
    switch start {
    case .blankPassword: try writeBlankKeyring(session: bus.session)
    case .locked:
      let daemon = try await startDaemon(.password("pw"), on: bus)
      await daemon.end()
      try await bus.waitUntilNoProvider()
    case .password, .none: break
    }
    daemon = Mutex(try await startDaemon(start, on: bus))
  }

  package var processIdentifier: CInt { daemon.withLock { $0.processIdentifier } }

  package var isRunning: Bool { daemon.withLock { $0.isRunning } }

  /// A sentence about the end of the daemon; `nil` while it runs.
  package var ending: String? { daemon.withLock { $0.ending } }

  /// The directory of the keyring files.
  package var files: String { keyrings(bus.session) }

  /// Stops the daemon with SIGTERM.
  package func stop() async throws { try await end(SIGTERM) }

  /// Kills the daemon.
  package func kill() async throws { try await end(SIGKILL) }

  /// Stops the daemon, if it still runs, and starts it again with the same files.
  package func restart(_ start: Start? = nil) async throws {
    try await stop()
    let started = try await startDaemon(start ?? self.start, on: bus)
    daemon.withLock { $0 = started }
  }

  /// Replaces the daemon by another one, as a user without a screen does to unlock the keyring.
  package func replace(password: String) async throws {
    let replaced = daemon.withLock { $0 }
    let started = try bus.start(
      "/usr/bin/gnome-keyring-daemon",
      ["--foreground", "--replace", "--unlock", "--components=secrets"],
      input: Data(password.utf8))
    await replaced.waitUntilEnded()
    try await bus.waitUntilDefaultCollection(is: .unlocked, of: started)
    daemon.withLock { $0 = started }
  }

  private func end(_ signal: CInt) async throws {
    let daemon = daemon.withLock { $0 }
    await daemon.end(signal)
    try await bus.waitUntilNoProvider()
  }
}

private func startDaemon(_ start: GnomeKeyring.Start, on bus: PrivateBus) async throws -> Program {
  let (options, input, expected): ([String], String, DefaultCollection) =
    switch start {
    case .password(let password): (["--unlock"], password, .unlocked)
    case .blankPassword: ([], "", .locked)
    case .locked: ([], "", .locked)
    case .none: ([], "", .absent)
    }
  let daemon = try bus.start(
    "/usr/bin/gnome-keyring-daemon", ["--foreground", "--components=secrets"] + options,
    input: Data(input.utf8))
  try await bus.waitUntilDefaultCollection(is: expected, of: daemon)
  return daemon
}

private func keyrings(_ session: Session) -> String { session.folder + "/data/keyrings" }

/// Writes a keyring in the plain text format, and makes it the default.
private func writeBlankKeyring(session: Session) throws {
  let folder = keyrings(session)
  try FileManager.default.createDirectory(
    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  try """
  [keyring]
  display-name=login
  ctime=0
  mtime=0
  lock-on-idle=false
  lock-after=false

  """.write(toFile: folder + "/login.keyring", atomically: false, encoding: .utf8)
  try "login".write(toFile: folder + "/default", atomically: false, encoding: .utf8)
}
