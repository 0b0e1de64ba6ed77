package import KistCore

/// What a helper answers to the tool that started it.
package struct HelperAnswer: Sendable, Equatable {
  /// What the tool reads: standard output.
  package var output = Secret(utf8: "")
  /// What a person reads: standard error.
  package var complaint: StorageError?
  /// The exit status.
  package var status: Int32 = 0

  /// The answer to a call that was carried out.
  static func done(_ output: Secret = Secret(utf8: "")) -> HelperAnswer {
    HelperAnswer(output: output)
  }

  /// The answer to a call that was not, where the tool leaves it to standard error to say why.
  static func failed(_ error: StorageError) -> HelperAnswer {
    HelperAnswer(complaint: error, status: error.code.exitStatus)
  }
}
