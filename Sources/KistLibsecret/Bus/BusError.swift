internal import CLibsecret

/// The reason why a call over the bus failed.
enum BusError: Error, Equatable {
  case timeout
  /// The provider or the bus itself went away; the call may have arrived.
  case disconnected
  case unreachableBus
  case wrongBusAddress
  /// The name has no owner, or the bus cannot start a program for it; the call did not arrive.
  case noOwner
  case startFailed
  case noSuchObject
  case locked
  case dismissed
  /// The answer does not follow the specification.
  case malformed
  /// Another error, with its name, which contains nothing of the request.
  case refused(String)
}

extension BusError {
  /// Takes ownership of a GLib error.
  init(owning error: UnsafeMutablePointer<GError>?) {
    guard let error = unsafe error else {
      self = .malformed
      return
    }
    defer { unsafe g_error_free(error) }
    let remote = unsafe g_dbus_error_get_remote_error(error)
    if let remote = unsafe remote {
      defer { unsafe g_free(remote) }
      self.init(name: unsafe String(cString: remote))
    } else if unsafe error.pointee.domain == g_io_error_quark() {
      self.init(ioCode: unsafe error.pointee.code)
    } else if unsafe error.pointee.domain == secret_error_get_quark() {
      self = .malformed
    } else {
      self = unsafe .refused(String(cString: g_quark_to_string(error.pointee.domain)))
    }
  }

  /// Creates the error for a name on the bus.
  ///
  /// See the D-Bus specification, and the Secret Service specification, "Errors".
  init(name: String) {
    let (bus, secret) = ("org.freedesktop.DBus.Error.", "org.freedesktop.Secret.Error.")
    self =
      switch name {
      case bus + "NoReply", bus + "Disconnected", secret + "NoSession": .disconnected
      case bus + "ServiceUnknown", bus + "NameHasNoOwner": .noOwner
      case bus + "TimedOut", bus + "Timeout": .timeout
      case _ where name.hasPrefix(bus + "Spawn."): .startFailed
      case bus + "UnknownObject", bus + "UnknownMethod", bus + "UnknownInterface",
        secret + "NoSuchObject":
        .noSuchObject
      case secret + "IsLocked": .locked
      default: .refused(name)
      }
  }

  private init(ioCode code: gint) {
    self =
      switch GIOErrorEnum(rawValue: UInt32(bitPattern: code)) {
      case G_IO_ERROR_TIMED_OUT: .timeout
      case G_IO_ERROR_CANCELLED, G_IO_ERROR_CLOSED, G_IO_ERROR_BROKEN_PIPE,
        G_IO_ERROR_CONNECTION_REFUSED, G_IO_ERROR_NOT_FOUND:
        .disconnected
      case G_IO_ERROR_INVALID_ARGUMENT: .malformed
      default: .refused("g-io-error \(code)")
      }
  }
}
