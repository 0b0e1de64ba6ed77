/// A fault in a text and its place; the message never contains parts of the text.
package enum JSONError: Error, Equatable {
  /// A fault that begins at this byte of the text, counted from 0.
  case byte(Int, String)
  /// A fault in the value of a key; the key is one of ours, so its name repeats no input.
  case key(String, String)
}

extension JSONError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .byte(let offset, let problem): "\(problem) at byte \(offset)"
    case .key(let name, let problem): "`\(name)` \(problem)"
    }
  }
}
