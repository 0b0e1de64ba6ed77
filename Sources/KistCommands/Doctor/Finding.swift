internal import KistCore
internal import KistJSON

/// A finding of `kist doctor`.
struct Finding: Sendable, Equatable {
  /// The severity of a finding.
  enum State: Sendable, Equatable {
    /// No problem.
    case ok
    /// Worth knowing; credentials are still available.
    case note
    /// Credentials are unavailable or may be lost; the code is the error's.
    case problem(StorageError.Code)
  }

  var state: State
  /// The subject, in one word.
  var subject: String
  var message: String
  /// The remedy.
  var hint: String?

  init(_ state: State, _ subject: String, _ message: String, hint: String? = nil) {
    self.state = state
    self.subject = subject
    self.message = message
    self.hint = hint
  }

  /// Creates a finding from an error.
  init(_ error: StorageError, about subject: String) {
    self.init(.problem(error.code), subject, error.message, hint: error.hint)
  }
}

extension Finding.State {
  /// The state's name.
  var word: String {
    switch self {
    case .ok: "ok"
    case .note: "note"
    case .problem: "problem"
    }
  }

  /// The error code of a problem.
  var code: StorageError.Code? {
    if case .problem(let code) = self { code } else { nil }
  }
}

extension Finding {
  /// Returns the text of one JSON object.
  func json() -> Secret {
    JSONWriter.object { writer in
      writer.member("state", state.word)
      writer.member("code", state.code?.rawValue)
      writer.member("subject", subject)
      writer.member("message", message)
      writer.member("hint", hint)
    }
  }
}
