internal import KistCore

/// A question that a window asks the user.
struct Dialog: Sendable {
  enum Kind: Sendable {
    case passphrase(wasWrong: Bool)
    /// A question with this button and one to cancel.
    case confirmation(button: String)
    /// A text with one button.
    case message
  }

  let kind: Kind
  /// The text, without control characters except `\n`.
  let text: String
  /// The window of the program that asks, as it names it.
  let window: String

  init(kind: Kind, text: String, window: String = "") {
    self.kind = kind
    self.text = String(
      String.UnicodeScalarView(text.unicodeScalars.filter { $0 == "\n" || $0.isShown }))
    self.window = window
  }
}

/// The answer of the user to a question.
enum DialogAnswer: Sendable {
  case passphrase(Secret)
  case confirmed
  case dismissed
  /// The window could not be shown.
  case failed
}

extension Unicode.Scalar {
  /// Whether a window shows the character as it is: control characters and marks of direction are
  /// not shown.
  var isShown: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
      .unassigned:
      false
    default: true
    }
  }
}
