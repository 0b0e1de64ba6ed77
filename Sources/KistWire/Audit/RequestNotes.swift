package import KistCore

/// Records the requests of one connection while they are answered, for the audit log.
///
/// A connection answers one request at a time, so one note is enough. It is handed over when its
/// request is answered. For that reason exclusive access is not checked, which keeps loads fast.
@safe
package final class RequestNotes: @unchecked Sendable {
  package struct Note: Sendable {
    /// The operation; empty until it was read.
    package var operation = ""
    /// The names in the request, if a credential can have such names.
    package var names: RequestedNames?
    /// The error code of a refused request.
    package var failure: StorageError.Code?
    /// The times when the line came and when it was answered, in nanoseconds of the notes' clock.
    package var start: Int64 = 0
    package var end: Int64 = 0

    package init() {}
  }

  private let now: @Sendable () -> Int64
  private let whenAnswered: @Sendable (Note) -> Void
  @exclusivity(unchecked) private var note = Note()

  package init(
    now: @escaping @Sendable () -> Int64, whenAnswered: @escaping @Sendable (Note) -> Void
  ) {
    self.now = now
    self.whenAnswered = whenAnswered
  }

  func begin() { unsafe note.start = now() }
  func add(operation: String) { unsafe note.operation = operation }

  /// Records names, except those that are too long for a credential.
  ///
  /// Thousands of notes may wait, and a name may be as long as a line.
  func add(names: RequestedNames) { if names.areWorthNoting { unsafe note.names = names } }

  func add(failure: StorageError.Code) { unsafe note.failure = failure }

  func end() {
    var answered = Note()
    unsafe swap(&answered, &note)
    answered.end = now()
    whenAnswered(answered)
  }
}

extension RequestedNames {
  /// Whether there are names and a credential can have them.
  fileprivate var areWorthNoting: Bool {
    (service != nil || account != nil)
      && (service?.utf8.count ?? 0) <= Limits.keyPart
      && (account?.utf8.count ?? 0) <= Limits.keyPart
  }
}
