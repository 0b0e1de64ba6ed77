package import KistCore

/// Returns the number of base64 characters, with padding, for a number of bytes.
package func base64Count(of count: Int) -> Int { (count + 2) / 3 * 4 }

/// Appends bytes in base64 (RFC 4648 §4), with padding.
package func appendBase64(_ bytes: Span<UInt8>, to text: inout WipedBytes) {
  text.append(upTo: base64Count(of: bytes.count)) { output in
    unsafe output.withUnsafeMutableBufferPointer { text, filled in
      let alphabet = unsafe alphabet.utf8Start
      var offset = 0
      // Six bytes in a step, while eight can be read.
      while offset + 8 <= bytes.count {
        let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
        let group = UInt64(bigEndian: word)
        for position in 0..<8 {
          unsafe text[filled &+ position] = alphabet[Int(group >> (58 - 6 * position) & 0x3F)]
        }
        offset += 6
        filled += 8
      }
      while offset < bytes.count {
        let length = min(3, bytes.count - offset)
        var group: UInt32 = 0
        for position in 0..<3 {
          group = group << 8 | (position < length ? UInt32(bytes[offset + position]) : 0)
        }
        for position in 0..<4 {
          unsafe text[filled &+ position] =
            position <= length
            ? alphabet[Int(group >> (18 - 6 * position) & 0x3F)] : UInt8(ascii: "=")
        }
        offset += 3
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
