internal import CSystemd
internal import KistSystem

/// An error reply of D-Bus: a name for programs, and a message for the user.
package struct BusError: Error, Hashable, Sendable {
  package var name: String
  package var message: String

  package init(_ name: String, _ message: String) {
    (self.name, self.message) = (name, message)
  }

  /// The call does not follow the interface, or its content is malformed.
  package static func invalidArguments(_ message: String) -> BusError {
    BusError("org.freedesktop.DBus.Error.InvalidArgs", message)
  }

  /// The connection to the bus failed, or ended.
  package static func disconnected(_ code: CInt) -> BusError {
    BusError("org.freedesktop.DBus.Error.Disconnected", systemText(of: abs(code)))
  }
}

/// Throws if a function of sd-bus failed while it read a message.
func mustRead(_ status: CInt) throws(BusError) {
  if status < 0 { throw .invalidArguments("the message is malformed") }
}

/// Ends the process if sd-bus fails to write a message.
///
/// It fails if there is no memory, or if the caller passes a path, a name or a text that D-Bus does
/// not allow. Texts from outside must be checked before.
func mustSucceed(_ status: CInt, _ function: StaticString = #function) {
  precondition(status >= 0, "\(function): \(systemText(of: -status))")
}
