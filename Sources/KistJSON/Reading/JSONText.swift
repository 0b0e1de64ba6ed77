internal import KistCore

/// Reads one UTF-8 scalar (RFC 3629); refuses overlong forms, surrogates, and values after
/// U+10FFFF.
func utf8Scalar(_ bytes: Span<UInt8>, at offset: inout Int) throws(JSONError) -> Unicode.Scalar {
  let lead = bytes[offset]
  if lead < 0x80 {
    offset += 1
    return Unicode.Scalar(lead)
  }
  let length = (~lead).leadingZeroBitCount
  guard (2...4).contains(length), offset + length <= bytes.count else {
    throw .byte(offset, "invalid UTF-8")
  }
  var value = UInt32(lead) & (0x7F >> UInt32(length))
  for position in offset + 1..<offset + length {
    guard bytes[position] & 0xC0 == 0x80 else { throw .byte(offset, "invalid UTF-8") }
    value = value << 6 | UInt32(bytes[position] & 0x3F)
  }
  let least: UInt32 = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x1_0000
  guard value >= least, let scalar = Unicode.Scalar(value) else {
    throw .byte(offset, "invalid UTF-8")
  }
  offset += length
  return scalar
}

/// Reads one escape from its backslash; the two halves of a surrogate pair are one escape.
func escapedScalar(_ bytes: Span<UInt8>, at offset: inout Int) throws(JSONError) -> Unicode.Scalar {
  let start = offset
  guard start + 1 < bytes.count else { throw .byte(start, "an unfinished escape") }
  offset += 2
  switch bytes[start + 1] {
  case UInt8(ascii: "\""): return "\""
  case UInt8(ascii: "\\"): return "\\"
  case UInt8(ascii: "/"): return "/"
  case UInt8(ascii: "b"): return "\u{8}"
  case UInt8(ascii: "f"): return "\u{C}"
  case UInt8(ascii: "n"): return "\n"
  case UInt8(ascii: "r"): return "\r"
  case UInt8(ascii: "t"): return "\t"
  case UInt8(ascii: "u"): break
  default: throw .byte(start, "an unknown escape")
  }
  let unit = try hexUnit(bytes, at: &offset)
  if let scalar = Unicode.Scalar(unit) { return scalar }
  guard
    unit < 0xDC00, offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"),
    bytes[offset + 1] == UInt8(ascii: "u")
  else { throw .byte(start, "a lone surrogate") }
  offset += 2
  let low = try hexUnit(bytes, at: &offset)
  guard
    (0xDC00...0xDFFF).contains(low),
    let scalar = Unicode.Scalar(0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00))
  else { throw .byte(start, "a lone surrogate") }
  return scalar
}

private func hexUnit(_ bytes: Span<UInt8>, at offset: inout Int) throws(JSONError) -> UInt32 {
  guard offset + 4 <= bytes.count else { throw .byte(offset, "an unfinished escape") }
  var unit: UInt32 = 0
  for position in offset..<offset + 4 {
    guard let digit = bytes[position].hexadecimalValue else {
      throw .byte(position, "an escape that is not four hexadecimal digits")
    }
    unit = unit << 4 | UInt32(digit)
  }
  offset += 4
  return unit
}

/// Whether the contents of two valid strings are equal after their escapes are decoded.
func isSameText(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
  var (i, j) = (0, 0)
  while i < left.count, j < right.count {
    if left[i] != UInt8(ascii: "\\"), right[j] != UInt8(ascii: "\\") {
      guard left[i] == right[j] else { return false }
      (i, j) = (i + 1, j + 1)
    } else {
      guard
        let one = try? decodedScalar(left, at: &i), let other = try? decodedScalar(right, at: &j),
        one == other
      else { return false }
    }
  }
  return i == left.count && j == right.count
}

func decodedScalar(
  _ content: Span<UInt8>, at offset: inout Int
) throws(JSONError) -> Unicode.Scalar {
  content[offset] == UInt8(ascii: "\\")
    ? try escapedScalar(content, at: &offset) : try utf8Scalar(content, at: &offset)
}

/// Appends the content of a valid string with its escapes decoded.
func appendDecoded(
  _ content: Span<UInt8>, to text: inout WipedBytes
) throws(JSONError) {
  var offset = 0
  while offset < content.count {
    var end = offset
    while end < content.count, content[end] != UInt8(ascii: "\\") { end += 1 }
    text.append(content.extracting(offset..<end))
    offset = end
    if offset < content.count {
      for byte in try escapedScalar(content, at: &offset).utf8 { text.append(byte) }
    }
  }
}
