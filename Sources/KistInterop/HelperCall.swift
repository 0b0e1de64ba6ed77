package import KistCore
internal import KistJSON

/// The input of a helper that a tool starts.
package struct HelperCall: Sendable {
  /// The maximum size of a helper's standard input, in bytes: 1 MiB.
  package static let longestInput = 1 << 20

  /// The arguments after the name of the helper program, or after `kist helper TOOL`.
  package var arguments: [String]
  /// Returns the value of an environment variable.
  package var variable: @Sendable (String) -> String?
  /// Reads standard input to its end; throws `tooLarge` for more than `longestInput` bytes.
  package var readInput: @Sendable () throws(StorageError) -> Secret
  /// Returns the current time.
  package var now: @Sendable () -> Timestamp

  package init(
    arguments: [String], variable: @escaping @Sendable (String) -> String?,
    readInput: @escaping @Sendable () throws(StorageError) -> Secret,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.arguments = arguments
    self.variable = variable
    self.readInput = readInput
    self.now = now
  }
}

extension HelperCall {
  /// Returns the words; throws unless there is one for each name and none is empty.
  func words(_ names: String...) throws(StorageError) -> [String] {
    guard arguments.count == names.count, !arguments.contains("") else {
      throw .wrongWords(names.joined(separator: " "))
    }
    return arguments
  }
}

extension StorageError {
  static func wrongWords(_ right: String) -> StorageError {
    .badRequest("the arguments of the helper are wrong", hint: "write: \(right)")
  }

  static func notFound(keptAs service: String, with account: String) -> StorageError {
    var error = StorageError.notFound
    error.hint = "save the credential for NAME as \(service): `kist save \(service) \(account)`"
    return error
  }
}

/// The answer of a helper to the tool that started it.
package struct HelperAnswer: Sendable, Equatable {
  /// The output for the tool: standard output.
  package var output = Secret(utf8: "")
  /// The error for the user: standard error.
  package var complaint: StorageError?
  /// The exit status.
  package var status: Int32 = 0

  static func done(_ output: Secret = Secret(utf8: "")) -> HelperAnswer {
    HelperAnswer(output: output)
  }

  static func json(
    _ members: (inout JSONWriter) throws(StorageError) -> Void
  ) throws(StorageError) -> HelperAnswer {
    .done(try JSONWriter.object(members).withNewline)
  }

  /// Returns the answer to a failed call of a tool that expects errors on standard error.
  static func failed(_ error: StorageError) -> HelperAnswer {
    HelperAnswer(complaint: error, status: error.code.exitStatus)
  }
}

extension JSONWriter {
  /// Writes the secret of a credential, if there is one; throws unless it is text.
  mutating func member(_ name: StaticString, text credential: Credential?) throws(StorageError) {
    guard let credential else { return }
    guard credential.secret.validText != nil else {
      throw .badRequest(
        "the credential is not text, and this tool accepts only text",
        hint: "see it with `kist load`")
    }
    member(name, text: credential.secret)
  }
}
