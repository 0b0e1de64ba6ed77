package import KistCore

/// Returns the number of base64 characters, with padding, for a number of bytes.
package func base64Count(of count: Int) -> Int { (count + 2) / 3 * 4 }

/// Appends bytes in base64 (RFC 4648 §4), with padding.
package func appendBase64(_ bytes: Span<UInt8>, to text: inout WipedBytes) {
  text.append(upTo: base64Count(of: bytes.count)) { output in
    func append(_ group: UInt32, _ shift: UInt32) {
      output.append(unsafe alphabet.utf8Start[Int(group >> shift & 0x3F)])
    }
    let whole = bytes.count / 3 * 3
    for offset in stride(from: 0, to: whole, by: 3) {
      let group =
        UInt32(bytes[offset]) << 16 | UInt32(bytes[offset + 1]) << 8 | UInt32(bytes[offset + 2])
      append(group, 18)
      append(group, 12)
      append(group, 6)
      append(group, 0)
    }
    let rest = bytes.extracting(whole...)
    guard !rest.isEmpty else { return }
    let group = UInt32(rest[0]) << 16 | (rest.count == 2 ? UInt32(rest[1]) << 8 : 0)
    append(group, 18)
    append(group, 12)
    if rest.count == 2 { append(group, 6) }
    output.append(repeating: UInt8(ascii: "="), count: 3 - rest.count)
  }
}

/// Appends the bytes of a base64 text (RFC 4648 §4); returns false if it is not valid.
///
/// A valid text is padded and canonical; the bytes of another one have no meaning.
package func appendDecodedBase64(_ text: Span<UInt8>, to bytes: inout WipedBytes) -> Bool {
  guard text.count.isMultiple(of: 4) else { return false }
  var padding = 0
  while padding < 2, padding < text.count, text[text.count - 1 - padding] == UInt8(ascii: "=") {
    padding += 1
  }
  return bytes.append(upTo: text.count / 4 * 3) { output in
    var group: UInt32 = 0
    for offset in 0..<text.count - padding {
      guard let value = value(of: text[offset]) else { return false }
      group = group << 6 | UInt32(value)
      if offset & 3 == 3 {
        output.append(UInt8(truncatingIfNeeded: group >> 16))
        output.append(UInt8(truncatingIfNeeded: group >> 8))
        output.append(UInt8(truncatingIfNeeded: group))
        group = 0
      }
    }
    guard padding > 0 else { return true }
    group <<= 6 * padding
    output.append(UInt8(truncatingIfNeeded: group >> 16))
    if padding == 1 { output.append(UInt8(truncatingIfNeeded: group >> 8)) }
    return group & (1 << (8 * padding) - 1) == 0
  }
}

private let alphabet: StaticString =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

private func value(of character: UInt8) -> UInt8? {
  switch character {
  case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
  case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
  case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
  case UInt8(ascii: "+"): 62
  case UInt8(ascii: "/"): 63
  default: nil
  }
}
