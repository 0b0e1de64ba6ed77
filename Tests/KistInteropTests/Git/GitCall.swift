import KistCore
import KistInterop

extension Call {
  /// A call of git's: lines of attributes, written with blanks between them.
  static func git(_ operation: String, _ attributes: String, gives output: String = "") -> Call {
    Call(
      helper: answerGit, arguments: [operation], input: Secret(utf8: lines(attributes)),
      output: lines(output))
  }

  /// A call of git's, with bytes of any kind, that is refused.
  static func git(_ operation: String, bytes: Secret, complains complaint: String, status: Int32)
    -> Call
  {
    Call(
      helper: answerGit, arguments: [operation], input: bytes, complaint: complaint, status: status)
  }
}

private func lines(_ attributes: String) -> String {
  attributes.split(separator: " ").map { $0 + "\n" }.joined()
}
