internal import KistSystem

/// Returns the address of the session bus, by the rules of sd_bus_open_user(3).
func sessionBusAddress() throws(BusError) -> String {
  if let address = environmentVariable("DBUS_SESSION_BUS_ADDRESS") { return address }
  guard let directory = environmentVariable("XDG_RUNTIME_DIR") else {
    throw BusError(
      "org.freedesktop.DBus.Error.Disconnected",
      "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set")
  }
  return "unix:path=\(directory.inBusAddress)/bus"
}

extension String {
  /// The text as a value in an address of a bus.
  fileprivate var inBusAddress: String {
    var value = ""
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: "/"), UInt8(ascii: "."):
        value.unicodeScalars.append(Unicode.Scalar(byte))
      default: value += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    return value
  }
}
