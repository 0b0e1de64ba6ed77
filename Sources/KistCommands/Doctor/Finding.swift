internal import KistCore
internal import KistJSON

/// Something that `kist doctor` has to say.
struct Finding: Sendable, Equatable {
  /// How it is to be taken.
  enum State: Sendable, Equatable {
    /// As it should be.
    case ok
    /// Worth knowing; credentials can be had all the same.
    case note
    /// Credentials cannot be had, or can be lost; the code says how.
    case problem(StorageError.Code)
  }

  var state: State
  /// What it is about, in a word.
  var subject: String
  var message: String
  /// What to do about it.
  var hint: String?

  init(_ state: State, _ subject: String, _ message: String, hint: String? = nil) {
    self.state = state
    self.subject = subject
    self.message = message
    self.hint = hint
  }

  /// What an error says.
  init(_ error: StorageError, about subject: String) {
    self.init(.problem(error.code), subject, error.message, hint: error.hint)
  }
}

extension Finding.State {
  /// The state in a word.
  var word: String {
    switch self {
    case .ok: "ok"
    case .note: "note"
    case .problem: "problem"
    }
  }

  /// The code of a problem.
  var code: StorageError.Code? {
    if case .problem(let code) = self { code } else { nil }
  }
}

extension Finding {
  /// The text of one JSON object.
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
