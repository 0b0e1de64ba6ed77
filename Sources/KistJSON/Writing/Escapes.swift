package import KistCore

/// Whether a byte is ASCII that a string contains without an escape, as nearly every byte is.
@inline(__always) func isPlain(_ byte: UInt8) -> Bool {
  byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
}

private func arePlain(_ bytes: EightBytes) -> Bool {
  bytes.arePrintable
    && bytes.marks(of: UInt8(ascii: "\"")) | bytes.marks(of: UInt8(ascii: "\\")) == 0
}

/// Returns the end of the plain bytes that begin at an offset.
func plainEnd(of bytes: Span<UInt8>, from start: Int) -> Int {
  var offset = start
  while offset + 8 <= bytes.count, arePlain(EightBytes(bytes, from: offset)) { offset += 8 }
  while offset < bytes.count, isPlain(bytes[offset]) { offset += 1 }
  return offset
}

/// Returns the escape that the character at an offset needs, and its length in UTF-8.
///
/// JSON allows unescaped DEL and C1, but terminals execute them.
func escape(at offset: Int, of utf8: Span<UInt8>) -> (text: String, length: Int)? {
  switch utf8[offset] {
  case UInt8(ascii: "\""): ("\\\"", 1)
  case UInt8(ascii: "\\"): ("\\\\", 1)
  case 0x08: ("\\b", 1)
  case 0x09: ("\\t", 1)
  case 0x0A: ("\\n", 1)
  case 0x0C: ("\\f", 1)
  case 0x0D: ("\\r", 1)
  case let byte where byte < 0x20 || byte == 0x7F: (unicodeEscape(of: byte), 1)
  // The second byte of a C1 character is its number.
  case 0xC2 where offset + 1 < utf8.count && utf8[offset + 1] < 0xA0:
    (unicodeEscape(of: utf8[offset + 1]), 2)
  default: nil
  }
}

private func unicodeEscape(of control: UInt8) -> String {
  (control < 0x10 ? "\\u000" : "\\u00") + String(control, radix: 16)
}

/// Returns the number of bytes that a text needs between the quotes of a JSON string.
///
/// Returns `nil` if it is not UTF-8 or contains a NUL, which ends strings in much other software.
package func textCount(of bytes: Span<UInt8>) -> Int? {
  var count = 0
  var offset = 0
  while offset < bytes.count {
    let start = plainEnd(of: bytes, from: offset)
    count += start - offset
    offset = start
    if start == bytes.count { break }
    guard bytes[start] != 0, (try? utf8Scalar(bytes, at: &offset)) != nil else { return nil }
    count += escape(at: start, of: bytes)?.text.utf8.count ?? offset - start
  }
  return count
}

/// Returns equal JSON in which every character that misleads on a terminal is an escape.
///
/// The writer has already escaped the control characters. The others are only in strings, because
/// the rest of JSON is ASCII.
package func visible(json: Secret) -> Secret {
  escaping(json, where: { !$0.isASCII && $0.isMisleading }) { scalar in
    UTF16.encode(scalar)!.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }.joined()
  }
}

/// Returns lines of a text in which every character that misleads on a terminal is escaped.
///
/// The escapes are those of `visible(_:)`. The text may contain secrets.
package func visible(lines: Secret) -> Secret {
  escaping(lines, where: { $0 != "\n" && $0.isMisleading }) { visible(String($0)) }
}

/// Returns a text with some characters replaced; bytes that are not UTF-8 stay.
private func escaping(
  _ text: Secret, where isEscaped: (Unicode.Scalar) -> Bool, _ escape: (Unicode.Scalar) -> String
) -> Secret {
  text.withBytes { bytes in
    var escaped = WipedBytes(capacity: bytes.count)
    var (start, offset) = (0, 0)
    while offset < bytes.count {
      let character = offset
      guard let scalar = try? utf8Scalar(bytes, at: &offset) else {
        offset += 1
        continue
      }
      guard isEscaped(scalar) else { continue }
      escaped.append(bytes.extracting(start..<character))
      escaped.append(utf8: escape(scalar))
      start = offset
    }
    escaped.append(bytes.extracting(start..<bytes.count))
    return Secret(escaped)
  }
}
