package import Foundation
import Glibc
import Synchronization

/// A D-Bus session bus of a test's own, with nothing on it that the test did not put there.
package final class PrivateBus: Sendable {
  package let session: Session
  /// For `DBUS_SESSION_BUS_ADDRESS`; not in `$XDG_RUNTIME_DIR`, so that no program finds it there.
  package let address: String
  private let daemon: Mutex<Program>

  /// Starts a bus in a session.
  ///
  /// - Parameters:
  ///   - activation: what the bus starts when a client asks for the Secret Service and none runs.
  ///   - startTimeout: how long the bus waits for it.
  package init(
    in session: Session, activation: Activation? = nil, startTimeout: Duration = .seconds(25)
  ) async throws {
    self.session = session
    address = "unix:path=\(session.folder)/bus"
    try activation?.plant(in: session.folder + "/services")
    try configuration(session.folder, startTimeout).write(
      toFile: session.folder + "/bus.conf", atomically: false, encoding: .utf8)
    daemon = Mutex(try await startDaemon(in: session))
  }

  /// What programs on this bus see of the world.
  package var environment: [String: String] {
    session.environment.merging(["DBUS_SESSION_BUS_ADDRESS": address]) { $1 }
  }

  /// Whether the bus runs.
  package var isRunning: Bool { daemon.withLock { $0.isRunning } }

  /// Kills the bus, and so the connections of all clients.
  ///
  /// Most providers end with it.
  package func kill() async {
    let daemon = daemon.withLock { $0 }
    await daemon.end(SIGKILL)
  }

  /// Starts the bus anew at the same address, after `kill()`.
  package func restart() async throws {
    await kill()
    let started = try await startDaemon(in: session)
    daemon.withLock { $0 = started }
  }

  /// Starts a program on this bus.
  func start(
    _ program: String, _ arguments: [String], input: Data = Data(),
    environment: [String: String] = [:]
  ) throws -> Program {
    try session.start(
      program, arguments, input: input,
      environment: self.environment.merging(environment) { $1 })
  }

  /// Runs a program on this bus to its end, or to a bound, at which it is killed.
  package func run(
    _ program: String, _ arguments: [String], input: Data = Data(),
    within bound: Duration = .unlessHung
  ) async throws -> Output {
    try await session.run(
      program, arguments, input: input, environment: environment, within: bound)
  }
}

/// Runs a test on a bus of its own, and ends everything that was started there.
package func withPrivateBus<Result>(
  activation: Activation? = nil, startTimeout: Duration = .seconds(25),
  _ body: (PrivateBus) async throws -> Result
) async throws -> Result {
  try await withSession { session in
    try await body(
      try await PrivateBus(in: session, activation: activation, startTimeout: startTimeout))
  }
}

private func startDaemon(in session: Session) async throws -> Program {
  let daemon = try session.start(
    "/usr/bin/dbus-daemon",
    ["--config-file=\(session.folder)/bus.conf", "--nofork", "--nopidfile", "--print-address=1"])
  try await poll("the bus listens") {
    guard daemon.isRunning else { throw NotInTime(description: daemon.output.errors) }
    return daemon.output.text.hasSuffix("\n")
  }
  return daemon
}

private func configuration(_ folder: String, _ startTimeout: Duration) -> String {
  """
  <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
   "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
  <busconfig>
    <type>session</type>
    <listen>unix:path=\(folder)/bus</listen>
    <auth>EXTERNAL</auth>
    <servicedir>\(folder)/services</servicedir>
    <policy context="default">
      <allow send_destination="*" eavesdrop="true"/>
      <allow eavesdrop="true"/>
      <allow own="*"/>
    </policy>
    <limit name="service_start_timeout">\(startTimeout / .milliseconds(1))</limit>
  </busconfig>
  """
}
