internal import KistBus
internal import KistSystem

/// The display of the user's session: the variables with which a program finds it.
struct Display: Sendable {
  let variables: [String]

  private static let names = ["DISPLAY", "WAYLAND_DISPLAY"]

  /// - Parameter variables: Variables as `NAME=value`; the result is `nil` if none names a display.
  init?(_ variables: [String]) {
    let isDisplay = { (variable: String) in
      Self.names.contains {
        variable.hasPrefix($0 + "=") && variable.utf8.count > $0.utf8.count + 1
      }
    }
    guard variables.contains(where: isDisplay) else { return nil }
    self.variables = variables.filter { isDisplay($0) || $0.hasPrefix("XAUTHORITY=") }
  }

  /// Returns the display of this process's environment; without one, that of systemd's.
  ///
  /// A desktop that starts later than this process sets its variables there.
  nonisolated(nonsending) static func current(_ bus: Bus) async -> Display? {
    let own = (names + ["XAUTHORITY"]).compactMap { name in
      environmentVariable(name).map { "\(name)=\($0)" }
    }
    if let display = Display(own) { return display }
    return await ofSystemd(bus)
  }

  nonisolated(nonsending) static func ofSystemd(_ bus: Bus) async -> Display? {
    let call = bus.makeCall(
      to: "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
      "org.freedesktop.DBus.Properties", "Get")
    call.forbidActivation()
    call.write("org.freedesktop.systemd1.Manager")
    call.write("Environment")
    guard let reply = try? await bus.reply(to: call, within: .seconds(5)),
      let variables = try? reply.readVariant(
        of: "as", { () throws(BusError) in try reply.readStrings() })
    else { return nil }
    return Display(variables)
  }
}
