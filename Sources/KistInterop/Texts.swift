internal import KistCore
internal import KistJSON

extension Secret {
  /// The bytes as text; `nil` where they are not UTF-8.
  var validText: String? { withBytes(String.init(validating:)) }

  /// Refuses a secret for a tool that takes text, where it is other bytes.
  func requireText() throws(StorageError) {
    guard validText != nil else {
      throw StorageError(
        .badRequest, "the credential is not text, and this tool takes nothing else",
        hint: "see it with `kist load`")
    }
  }
}

extension StorageError {
  /// What is wrong with the JSON that a tool sent.
  init(_ error: JSONError) { self = .badRequest("what was sent is not right: \(error)") }

  /// The message and what to do about it, for a tool that shows one line.
  var line: String { hint.map { "\(message); \($0)" } ?? message }
}
