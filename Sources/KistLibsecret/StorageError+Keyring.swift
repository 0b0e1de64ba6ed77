internal import CLibsecret
package import KistCore

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
  /// The only provider is kist's own, or would be once the bus starts it.
  case ownProvider
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

extension StorageError {
  /// There is no session bus, so nothing can reach a keyring.
  package static let noSessionBus = StorageError(
    .unavailable, "there is no session bus, so there is no keyring",
    hint: "log in to a desktop session")

  /// The error for items that went away each time before they were read.
  static var changingKeyring: StorageError {
    StorageError(
      .busy, "items of the keyring disappeared each time before kistd read them",
      hint: "try again; if that fails, restart the keyring's provider")
  }

  /// The error for an item of kist with unreadable bookkeeping; kist leaves the item unchanged.
  static func damagedBookkeeping(_ path: ObjectPath, _ problem: String) -> StorageError {
    damagedItem(
      path, "its bookkeeping \(problem)",
      hint: "delete the item with the keyring's own program, and save the credential again")
  }

  /// The error for an item of kist whose value is not a secret; a save replaces it unread.
  static func damagedValue(_ path: ObjectPath, _ problem: String) -> StorageError {
    damagedItem(
      path, "its value \(problem)",
      hint: "save the credential again (`kist save`), or delete it (`kist delete`)")
  }

  /// The error for an item; the end of its path identifies it, and contains nothing secret.
  private static func damagedItem(
    _ path: ObjectPath, _ problem: String, hint: String
  ) -> StorageError {
    StorageError(
      .corrupt,
      "item \(path.rawValue.split(separator: "/").last ?? "/") of the keyring is damaged: "
        + "\(problem); it was not changed",
      hint: "\(hint); intact credentials can still be loaded (`kist load`)")
  }

  /// The error for a keyring that cannot be trusted with a credential.
  static func notKept(_ message: String) -> StorageError {
    StorageError(.unavailable, message, hint: "use another provider")
  }

  init(_ error: BusError, deadline: Duration) {
    switch error {
    case .timeout:
      self.init(
        .timeout, "the keyring did not answer within \(deadline)",
        hint: "check whether its provider hangs or shows a prompt, and try again")
    case .disconnected:
      self.init(
        .unavailable, "the keyring's provider or the session bus stopped",
        hint: "try again once it is running")
    case .unreachableBus:
      self.init(
        .unavailable, "nothing answers at the address of the session bus",
        hint: "after a new login, wait two seconds and run the command again, so that a kistd with "
          + "the new address starts; otherwise check that DBUS_SESSION_BUS_ADDRESS names a running bus"
      )
    case .wrongBusAddress:
      self.init(
        .unavailable, "the address of the session bus is not one that D-Bus can read",
        hint: "correct DBUS_SESSION_BUS_ADDRESS, such as unix:path=/run/user/1000/bus")
    case .noOwner:
      self.init(
        .unavailable, "no program provides a keyring on the session bus",
        hint: "start one, such as gnome-keyring or KeePassXC")
    case .startFailed:
      self.init(
        .unavailable, "the keyring's provider could not be started",
        hint: "the journal of the session bus shows the reason")
    case .ownProvider:
      self.init(
        .unavailable, "the keyring on the session bus is kist's own, kist-secret-service",
        hint:
          "kistd cannot keep credentials there, because that program gets them from kistd; if yours "
          + "are in the keyring before it: `kist setup secret-service --undo`, and log in again")
    case .noSuchObject:
      self.init(.unavailable, "the keyring's provider has no such keyring", hint: "try again")
    case .locked: self = .locked("the keyring is locked")
    case .dismissed:
      self.init(
        .denied, "the keyring's provider asked the user, who refused",
        hint: "answer its prompt, or let it ask less in its settings")
    case .malformed:
      self.init(
        .unavailable,
        "the keyring's provider does not follow the Secret Service specification",
        hint: "use another provider")
    case .refused(let name):
      self.init(.unavailable, "the keyring's provider refused (\(name))", hint: "try again")
    }
  }
}
