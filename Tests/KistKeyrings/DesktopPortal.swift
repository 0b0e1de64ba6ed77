import Foundation

/// xdg-desktop-portal on a private bus, with kist as the back end of its Secret portal.
package final class DesktopPortal: Sendable {
  private let bus: PrivateBus
  private let daemon: Program

  /// Starts the portal, after the back end.
  ///
  /// - Parameter definition: The text of the file `kist.portal`.
  package init(on bus: PrivateBus, definition: String) async throws {
    self.bus = bus
    let folder = bus.session.folder + "/portals"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try definition.write(toFile: folder + "/kist.portal", atomically: false, encoding: .utf8)
    // Since version 1.17, the configuration names the back end.
    let settings = bus.session.folder + "/config/xdg-desktop-portal"
    try FileManager.default.createDirectory(atPath: settings, withIntermediateDirectories: true)
    try "[preferred]\norg.freedesktop.impl.portal.Secret=kist\n".write(
      toFile: settings + "/portals.conf", atomically: false, encoding: .utf8)
    daemon = try bus.start(
      "/usr/libexec/xdg-desktop-portal", [], environment: ["XDG_DESKTOP_PORTAL_DIR": folder])
    try await poll("the portal has its name") {
      guard daemon.isRunning else { throw NotInTime(description: daemon.output.errors) }
      return try await bus.hasOwner("org.freedesktop.portal.Desktop")
    }
  }

  /// Asks for the secret of an application once for each name, from a sandbox as Flatpak makes it.
  ///
  /// Returns a line for each answer: the name, the response and the secret in hexadecimal digits.
  package func secrets(
    of application: String, _ names: [String] = ["one"]
  ) async throws -> [String] {
    let information = bus.session.folder + "/" + application
    try "[Application]\nname=\(application)\n\n[Instance]\ninstance-id=1\n".write(
      toFile: information, atomically: false, encoding: .utf8)
    let sandbox = [
      "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
      "/lib64", "--symlink", "usr/bin", "/bin", "--ro-bind", "/etc", "/etc", "--proc", "/proc",
      "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", bus.session.folder, bus.session.folder,
      "--ro-bind", Self.client, "/client.py", "--ro-bind", information, "/.flatpak-info",
    ]
    let end = try await bus.run(
      "/usr/bin/bwrap", sandbox + ["/usr/bin/python3", "/client.py"] + names)
    guard end.status == 0 else { throw NotInTime(description: end.errors) }
    return end.text.split(separator: "\n").map(String.init)
  }

  /// Calls the back end without the portal; returns the response and the secret, or an error's name.
  package static func askBackEnd(
    on bus: PrivateBus, handle: String, application: String, descriptor kind: String
  ) async throws -> String {
    let end = try await bus.run(
      "/usr/bin/python3", [client, "direct", handle, application, kind])
    guard end.status == 0 else { throw NotInTime(description: end.errors) }
    return String(end.text.dropLast())
  }

  private static var client: String {
    URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Mock/portal_client.py")
      .path
  }
}
