package import KistCore

/// The answer of a helper to the tool that started it.
package struct HelperAnswer: Sendable, Equatable {
  /// The output for the tool: standard output.
  package var output = Secret(utf8: "")
  /// The error for the user: standard error.
  package var complaint: StorageError?
  /// The exit status.
  package var status: Int32 = 0

  /// Returns the answer to a successful call.
  static func done(_ output: Secret = Secret(utf8: "")) -> HelperAnswer {
    HelperAnswer(output: output)
  }

  /// Returns the answer to a failed call, for a tool that leaves the message to standard error.
  static func failed(_ error: StorageError) -> HelperAnswer {
    HelperAnswer(complaint: error, status: error.code.exitStatus)
  }
}
