/// What is wrong with a text, and where; made of our own words only, never of the text's.
package enum JSONError: Error, Equatable {
  /// Something that begins at this byte of the text, counted from 0.
  case byte(Int, String)
  /// The value of a key that is among those we know, so that its name repeats no input.
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
