internal import KistCore
internal import KistJSON

extension Secret {
  /// The bytes as text; `nil` if they are not UTF-8.
  var validText: String? { withBytes(String.init(validating:)) }

  /// Throws if the secret is not text, for a tool that accepts only text.
  func requireText() throws(StorageError) {
    guard validText != nil else {
      throw StorageError(
        .badRequest, "the credential is not text, and this tool takes nothing else",
        hint: "see it with `kist load`")
    }
  }
}

extension StorageError {
  /// Creates an error for invalid JSON from a tool.
  init(_ error: JSONError) { self = .badRequest("what was sent is not right: \(error)") }

  /// The message and the hint in one line, for a tool that shows only one, usually on a terminal.
  var line: String { visible(hint.map { "\(message); \($0)" } ?? message) }
}
