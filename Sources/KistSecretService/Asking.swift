package import KistCore

/// How the user is asked.
package struct Asking: Sendable {
  /// A question for the passphrase of the storage.
  package struct PassphraseQuestion: Sendable {
    /// Whether the last passphrase was wrong.
    package var wasWrong: Bool
    package var window: Window
    /// When the program showed its prompt.
    package var shownAt: ContinuousClock.Instant
  }

  /// The answer to the question for the passphrase.
  package enum Answer: Sendable {
    case passphrase(Secret)
    /// The storage was unlocked elsewhere.
    case unlocked
    case dismissed
  }

  /// A question that the user answers with a button.
  package struct Confirmation: Sendable {
    package var text: String
    /// What is asked about, in the words of a program on the bus.
    package var details: String
    /// The button for "yes".
    package var button: String
    package var window: Window
  }

  /// Whether a prompt for the passphrase can end otherwise than dismissed.
  package var canAsk: @Sendable () async -> Bool
  package var passphrase: @Sendable (PassphraseQuestion) async -> Answer
  /// Whether the user can be asked to confirm something.
  package var canConfirm: @Sendable () async -> Bool
  package var confirm: @Sendable (Confirmation) async -> Bool
  /// Shows why something that the user confirmed failed.
  package var report: @Sendable (_ text: String) async -> Void

  package init(
    canAsk: @escaping @Sendable () async -> Bool,
    passphrase: @escaping @Sendable (PassphraseQuestion) async -> Answer,
    canConfirm: @escaping @Sendable () async -> Bool = { false },
    confirm: @escaping @Sendable (Confirmation) async -> Bool = { _ in false },
    report: @escaping @Sendable (_ text: String) async -> Void = { _ in }
  ) {
    self.canAsk = canAsk
    self.passphrase = passphrase
    self.canConfirm = canConfirm
    self.confirm = confirm
    self.report = report
  }

  /// The value for a machine where the user cannot be asked.
  package static var nobody: Asking {
    Asking(canAsk: { false }, passphrase: { _ in .dismissed })
  }
}

/// The window of the program that shows a prompt, as the program names it.
///
/// It is an X11 window in hexadecimal, `wayland:HANDLE`, or empty.
package struct Window: Sendable {
  package let name: String

  package init(_ name: String) { self.name = name }
}
