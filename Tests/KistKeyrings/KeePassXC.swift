import Foundation
import Glibc
import Synchronization

/// KeePassXC as the provider of the Secret Service on a private bus, on a virtual screen.
///
/// Its settings disable all prompts.
package final class KeePassXC: Sendable {
  private static let password = "pw"

  private let bus: PrivateBus
  private let screen: Screen
  private let program: Mutex<Program>

  /// Starts it with a new database and returns once this is the unlocked default collection.
  package init(on bus: PrivateBus) async throws {
    self.bus = bus
    try writeSettings(in: bus.session)
    try await createDatabase(in: bus.session, password: Self.password)
    screen = try await Screen(in: bus.session)
    program = Mutex(try await startProgram(on: bus, screen, password: Self.password))
  }

  package var processIdentifier: CInt { program.withLock { $0.processIdentifier } }

  /// Kills the program.
  package func kill() async throws {
    let program = program.withLock { $0 }
    await program.end(SIGKILL)
    try await bus.waitUntilNoProvider()
  }

  /// Stops the program with SIGTERM, if it still runs, and starts it again with the same database.
  ///
  /// It only saves its changes when it is stopped with SIGTERM.
  package func restart() async throws {
    let ended = program.withLock { $0 }
    await ended.end()
    try await bus.waitUntilNoProvider()
    let started = try await startProgram(on: bus, screen, password: Self.password)
    program.withLock { $0 = started }
  }
}

private func startProgram(
  on bus: PrivateBus, _ screen: Screen, password: String
) async throws -> Program {
  let program = try bus.start(
    "/usr/bin/keepassxc", ["--pw-stdin", databaseFile(bus.session)],
    input: Data("\(password)\n".utf8),
    // Each user and each directory of temporary files can have one KeePassXC. A second one would
    // pass its database to the first, and exit.
    environment: [
      "DISPLAY": screen.name, "TMPDIR": bus.session.folder + "/run", "USER": "kist",
    ])
  try await bus.waitUntilDefaultCollection(is: .unlocked, of: program)
  return program
}

private func databaseFile(_ session: Session) -> String { session.folder + "/keyring.kdbx" }

private func writeSettings(in session: Session) throws {
  let folder = session.folder + "/config/keepassxc"
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  // While KeePassXC 2.7.4 saves, it loses changes, hangs at SIGTERM, and crashes after many
  // changes. So here it only saves at its end.
  try """
  [General]
  AutoSaveAfterEveryChange=false
  AutoSaveOnExit=true
  ConfigVersion=2
  UpdateCheckMessageShown=true

  [GUI]
  CheckForUpdates=false

  [FdoSecrets]
  Enabled=true
  ConfirmAccessItem=false
  ConfirmDeleteItem=false
  ShowNotification=false

  """.write(toFile: folder + "/keepassxc.ini", atomically: false, encoding: .utf8)
}

/// Creates a database that exposes its root group, which its custom data names.
private func createDatabase(in session: Session, password: String) async throws {
  let document = session.folder + "/keyring.xml"
  let group = UUID()
  let bytes = unsafe withUnsafeBytes(of: group.uuid) { unsafe Data($0) }
  try """
  <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
  <KeePassFile>
    <Meta>
      <CustomData>
        <Item>
          <Key>FDO_SECRETS_EXPOSED_GROUP</Key>
          <Value>{\(group.uuidString.lowercased())}</Value>
        </Item>
      </CustomData>
    </Meta>
    <Root>
      <Group><UUID>\(bytes.base64EncodedString())</UUID><Name>Root</Name></Group>
    </Root>
  </KeePassFile>
  """.write(toFile: document, atomically: false, encoding: .utf8)
  let imported = try await session.run(
    "/usr/bin/keepassxc-cli",
    [
      "import", "--quiet", "--set-password", "--decryption-time", "100", document,
      databaseFile(session),
    ],
    input: Data("\(password)\n\(password)\n".utf8))
  guard imported.status == 0 else { throw NotInTime(description: imported.errors) }
}
