package import KistCore

/// What is noted of the requests of one connection while they are answered, for a log of them.
///
/// They are answered one after another, and so one note is enough, which whoever hands in a line takes
/// when it is answered. Access to it is not checked for that reason, which a load would pay for.
@safe
package final class RequestNotes: @unchecked Sendable {
  package struct Note: Sendable {
    /// The operation, once it was read; empty until then.
    package var operation = ""
    /// What the request names, where the operation names anything.
    package var names: RequestedNames?
    /// Why it was refused.
    package var failure: StorageError.Code?

    package init() {}
  }

  @exclusivity(unchecked) private var note = Note()

  package init() {}

  /// What was noted since the last time.
  package func take() -> Note {
    defer { unsafe note = Note() }
    return unsafe note
  }

  func add(operation: String) { unsafe note.operation = operation }
  func add(names: RequestedNames) { unsafe note.names = names }
  func add(failure: StorageError.Code) { unsafe note.failure = failure }
}
