package import Foundation
import Glibc
import Synchronization

/// A D-Bus session bus for one test, which contains only what the test starts.
package final class PrivateBus: Sendable {
  package let session: Session
  /// The value of `DBUS_SESSION_BUS_ADDRESS`.
  ///
  /// It is not in `$XDG_RUNTIME_DIR`, where programs would find it.
  package let address: String
  private let daemon: Mutex<Program>

  /// Starts a bus in a session.
  ///
  /// - Parameters:
  ///   - activation: the program that the bus starts for the Secret Service if none runs.
  ///   - startTimeout: the time that the bus waits for this program.
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

  /// The environment of programs on this bus.
  package var environment: [String: String] {
    session.environment.merging(["DBUS_SESSION_BUS_ADDRESS": address]) { $1 }
  }

  /// Whether the bus runs.
  package var isRunning: Bool { daemon.withLock { $0.isRunning } }

  /// Kills the bus, and so the connections of all clients.
  ///
  /// Most providers then exit.
  package func kill() async {
    let daemon = daemon.withLock { $0 }
    await daemon.end(SIGKILL)
  }

  /// Stops the bus, so that it takes and delivers nothing, until `resume`.
  package func pause() { daemon.withLock { $0.kill(SIGSTOP) } }
  package func resume() { daemon.withLock { $0.kill(SIGCONT) } }

  /// Starts the bus again at the same address, after `kill()`.
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

  /// Runs a program on this bus, and kills it at a time limit.
  package func run(
    _ program: String, _ arguments: [String], input: Data = Data(),
    within bound: Duration = .unlessHung
  ) async throws -> Output {
    try await session.run(
      program, arguments, input: input, environment: environment, within: bound)
  }
}

/// Runs a test on its own bus, and ends all programs that were started there.
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
      <allow user="*"/>
    </policy>
    <!-- As on the session bus of Debian. -->
    <limit name="max_replies_per_connection">50000</limit>
    <limit name="max_incoming_bytes">1000000000</limit>
    <limit name="max_outgoing_bytes">1000000000</limit>
    <limit name="max_message_size">1000000000</limit>
    <limit name="max_incoming_unix_fds">250000000</limit>
    <limit name="max_outgoing_unix_fds">250000000</limit>
    <limit name="max_message_unix_fds">4096</limit>
    <limit name="service_start_timeout">\(startTimeout / .milliseconds(1))</limit>
  </busconfig>
  """
}
