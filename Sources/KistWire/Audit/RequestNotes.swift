package import KistCore

/// What is noted of the requests of one connection while they are answered, for a log of them.
///
/// They are answered one after another, and so one note is enough, which is given away when its
/// request is answered. Access to it is not checked for that reason, which a load would pay for.
@safe
package final class RequestNotes: @unchecked Sendable {
  package struct Note: Sendable {
    /// The operation, once it was read; empty until then.
    package var operation = ""
    /// What the request names, where it names anything that a credential can be called.
    package var names: RequestedNames?
    /// Why it was refused.
    package var failure: StorageError.Code?
    /// When the line came, and when it was answered, in nanoseconds of the clock that the notes have.
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

  /// Notes nothing that a storage would refuse for its size: notes wait, thousands of them, and a name
  /// may be as long as a line.
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
  /// Whether anything is named, and nothing that no credential can be called.
  fileprivate var areWorthNoting: Bool {
    (service != nil || account != nil)
      && (service?.utf8.count ?? 0) <= Limits.keyPart
      && (account?.utf8.count ?? 0) <= Limits.keyPart
  }
}
