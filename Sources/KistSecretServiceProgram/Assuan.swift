internal import KistCore

/// The protocol of pinentry: a line for each command, and for each reply.
enum Assuan {
  /// The bytes of a line, without its newline.
  static let longestLine = 1000

  /// A reply of pinentry.
  enum Reply {
    case ok
    /// A part of the passphrase.
    case data(Secret)
    case error(UInt32)
    /// A comment, a status line or a greeting.
    case other
  }

  /// The code of an error, without the part that says which program it is from.
  enum Code {
    static let timeout: UInt32 = 62
    static let canceled: UInt32 = 99
    static let notConfirmed: UInt32 = 114
    static let fullyCanceled: UInt32 = 198
  }

  /// Returns the line of a command, with its newline.
  ///
  /// The text is shortened to the length of a line. Only `\n` in it is kept of all control characters.
  static func line(_ command: String, _ text: String = "") -> [UInt8] {
    var line = Array(command.utf8)
    if !text.isEmpty { line.append(UInt8(ascii: " ")) }
    for scalar in text.unicodeScalars {
      let part: [UInt8] =
        switch scalar {
        case "%": Array("%25".utf8)
        case "\n": Array("%0A".utf8)
        default: scalar.isShown ? Array(String(scalar).utf8) : []
        }
      if line.count + part.count > longestLine { break }
      line += part
    }
    return line + [UInt8(ascii: "\n")]
  }

  /// Reads a reply, without its newline.
  static func reply(_ line: Span<UInt8>) -> Reply {
    if hasPrefix("D ", line) { return decoded(line.extracting(2...)).map(Reply.data) ?? .other }
    if hasPrefix("OK", line), line.count == 2 || line[2] == UInt8(ascii: " ") { return .ok }
    guard hasPrefix("ERR ", line) else { return .other }
    var code: UInt32 = 0
    var place = 4
    while place < line.count, (48...57).contains(line[place]) {
      code = code &* 10 &+ UInt32(line[place] - 48)
      place += 1
    }
    return .error(code & 0xFFFF)
  }

  private static func hasPrefix(_ prefix: String, _ line: Span<UInt8>) -> Bool {
    line.count >= prefix.utf8.count && zip(0..., prefix.utf8).allSatisfy { line[$0] == $1 }
  }

  /// Decodes `%` and two hexadecimal digits; returns `nil` if they are malformed.
  private static func decoded(_ line: Span<UInt8>) -> Secret? {
    var bytes = WipedBytes(capacity: line.count)
    var place = 0
    while place < line.count {
      if line[place] != UInt8(ascii: "%") {
        bytes.append(line[place])
        place += 1
        continue
      }
      guard place + 2 < line.count, let high = digit(line[place + 1]),
        let low = digit(line[place + 2])
      else { return nil }
      bytes.append(high << 4 | low)
      place += 3
    }
    return Secret(bytes)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 48...57: byte - 48
    case 65...70: byte - 55
    case 97...102: byte - 87
    default: nil
    }
  }
}
