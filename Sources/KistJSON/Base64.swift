package import KistCore

/// Returns the number of base64 characters, with padding, for a number of bytes.
package func base64Count(of count: Int) -> Int { (count + 2) / 3 * 4 }

/// Appends bytes in base64 (RFC 4648 §4), with padding.
package func appendBase64(_ bytes: Span<UInt8>, to text: inout WipedBytes) {
  text.append(upTo: base64Count(of: bytes.count)) { output in
    // Not byte by byte into `output`, which takes twice as long: every line of the audit log has
    // base64.
    unsafe output.withUnsafeMutableBufferPointer { text, filled in
      let alphabet = unsafe alphabet.utf8Start
      for offset in stride(from: 0, to: bytes.count, by: 3) {
        let rest = bytes.count - offset
        var group = UInt32(bytes[offset]) << 16
        if rest > 1 { group |= UInt32(bytes[offset + 1]) << 8 }
        if rest > 2 { group |= UInt32(bytes[offset + 2]) }
        unsafe text[filled] = alphabet[Int(group >> 18)]
        unsafe text[filled + 1] = alphabet[Int(group >> 12 & 0x3F)]
        unsafe text[filled + 2] = rest > 1 ? alphabet[Int(group >> 6 & 0x3F)] : paddingByte
        unsafe text[filled + 3] = rest > 2 ? alphabet[Int(group & 0x3F)] : paddingByte
        filled += 4
      }
    }
  }
}

/// Appends the bytes of a base64 text (RFC 4648 §4); returns false if it is not valid.
///
/// A valid text is padded and canonical; the bytes of another one have no meaning.
package func appendDecodedBase64(_ text: Span<UInt8>, to bytes: inout WipedBytes) -> Bool {
  guard text.count.isMultiple(of: 4) else { return false }
  var padding = 0
  while padding < 2, padding < text.count, text[text.count - 1 - padding] == paddingByte {
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

private let paddingByte = UInt8(ascii: "=")

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
