/// Returns the address of the session bus, or `nil` if there is none, since kistd never starts one.
///
/// See the D-Bus specification, "Well-known Message Bus Instances".
func sessionBusAddress(
  environment: (String) -> String?, isSocket: (String) -> Bool
) -> String? {
  // Leaves out an address that would start a bus.
  let addresses = (environment("DBUS_SESSION_BUS_ADDRESS") ?? "").split(separator: ";")
    .filter { !$0.hasPrefix("autolaunch:") }
  if !addresses.isEmpty { return addresses.joined(separator: ";") }
  guard let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else { return nil }
  let path = directory + "/bus"
  return isSocket(path) ? "unix:path=" + escaped(path) : nil
}

/// The bytes of a value in an address that need no escape ("Server Addresses").
private let plain = Set("-_/.\\*".utf8).union("0123456789".utf8)
  .union("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

private func escaped(_ path: String) -> String {
  path.utf8.map { byte in
    plain.contains(byte)
      ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }.joined()
}
