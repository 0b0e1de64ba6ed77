package import KistCore

/// An error reply of the Secret Service: a name for programs, and a message for the user.
package struct ServiceError: Error, Hashable, Sendable {
  package let name: String
  package let message: String

  package init(_ name: String, _ message: String) {
    (self.name, self.message) = (name, message)
  }

  package static let isLocked = ServiceError(
    secret + "IsLocked", "kist is locked; unlock it with `kist unlock`")
  package static let noSession = ServiceError(
    secret + "NoSession", "there is no such session of this program; open one with OpenSession")
  package static let noSuchObject = ServiceError(secret + "NoSuchObject", "there is no such object")
  package static func alreadyExists(_ message: String) -> ServiceError {
    ServiceError(secret + "AlreadyExists", message)
  }

  package static func invalid(_ message: String) -> ServiceError {
    ServiceError(bus + "InvalidArgs", message)
  }
  package static func notSupported(_ message: String) -> ServiceError {
    ServiceError(bus + "NotSupported", message)
  }
  package static func overLimit(_ message: String) -> ServiceError {
    ServiceError(bus + "LimitsExceeded", message)
  }
  package static func denied(_ message: String) -> ServiceError {
    ServiceError(bus + "AccessDenied", message)
  }

  /// Another client of kistd saved something else in place of the record of a collection.
  static let foreignRecord = ServiceError(
    bus + "Failed",
    "another client of kist replaced the record of the collection, a credential with the service "
      + "kist:collection; nothing was changed. See it with `kist load`, delete it with "
      + "`kist delete`, and create the collection again")

  private static let secret = "org.freedesktop.Secret.Error."
  private static let bus = "org.freedesktop.DBus.Error."

  /// Makes the error for a failure of kistd.
  package init(_ error: StorageError) {
    let message = error.messageAndOutcome + (error.hint.map { "; " + $0 } ?? "")
    switch error.code {
    case .locked, .wrongPassphrase: self = .isLocked
    case .notFound: self = .noSuchObject
    case .tooLarge: self = .overLimit(message)
    case .badRequest: self = .invalid(message)
    case .denied: self = .denied(message)
    case .timeout: self.init(Self.bus + "Timeout", message)
    case .busy, .full: self.init(Self.bus + "LimitsExceeded", message)
    default: self.init(Self.bus + "Failed", message)
    }
  }
}
