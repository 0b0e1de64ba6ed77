package import KistCore
internal import KistJSON

/// Receives a note of each request of a connection, for the audit log.
package struct RequestNotes: Sendable {
  package struct Note: Sendable {
    /// The operation; empty if it could not be read, or does not exist.
    package var operation = ""
    /// The names in the request; `nil` if there are none to log, or one of them is too long for a
    /// credential.
    package var names: RequestedNames?
    /// The encoded member `onBehalfOf` of the log's line, if the request named a program.
    ///
    /// An optional array takes less space in a note than the optional values of the program.
    var claim: [UInt8]?
    /// The error code of a failed request.
    package var failure: StorageError.Code?
    /// When the line arrived and when it was answered, in nanoseconds, from the clock `now`.
    package var start: Int64 = 0
    package var end: Int64 = 0

    package init() {}
  }

  let now: @Sendable () -> Int64
  let whenAnswered: @Sendable (Note) -> Void

  package init(
    now: @escaping @Sendable () -> Int64, whenAnswered: @escaping @Sendable (Note) -> Void
  ) {
    self.now = now
    self.whenAnswered = whenAnswered
  }
}

extension RequestNotes.Note {
  /// Adds the program for which the request was made.
  mutating func add(_ program: ClaimedProgram) {
    claim = AuditLineWriter.members(
      of: JSONWriter.object { $0.member("onBehalfOf", object: program) })
  }

  /// Adds the names, unless one of them is too long for a credential.
  ///
  /// Thousands of notes may wait in memory, and a name in a request may be as long as a line.
  mutating func add(_ names: RequestedNames) {
    if names.areShortEnough { self.names = names }
  }
}

extension JSONObject {
  /// Reads a service and an account, each of which may be absent.
  func requestedNames() throws(JSONError) -> RequestedNames {
    RequestedNames(service: try self["service"]?.string(), account: try self["account"]?.string())
  }
}

extension RequestedNames {
  /// Whether there is a name, and no name is too long for a credential.
  fileprivate var areShortEnough: Bool {
    (service != nil || account != nil)
      && (service?.utf8.count ?? 0) <= Limits.keyPart
      && (account?.utf8.count ?? 0) <= Limits.keyPart
  }
}
