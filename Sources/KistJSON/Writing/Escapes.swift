/// Whether a byte is ASCII that a string contains without an escape, as nearly every byte is.
@inline(__always) func isPlain(_ byte: UInt8) -> Bool {
  byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
}

/// Returns the end of the plain bytes that begin at an offset.
func plainEnd(of bytes: Span<UInt8>, from start: Int) -> Int {
  var offset = start
  // Steps of 32 bytes take a quarter of the time for a large secret, and cost no more than steps of
  // eight.
  while offset + 32 <= bytes.count {
    let marks =
      marks(in: bytes, at: offset) | marks(in: bytes, at: offset + 8)
      | marks(in: bytes, at: offset + 16) | marks(in: bytes, at: offset + 24)
    if marks != 0 { break }
    offset += 32
  }
  while offset + 8 <= bytes.count {
    let count = plainCount(of: bytes, at: offset)
    offset += count
    if count < 8 { return offset }
  }
  // Checks the last eight bytes in one step; those that were checked before are plain.
  let last = bytes.count - 8
  if last >= start { return last + plainCount(of: bytes, at: last) }
  while offset < bytes.count, isPlain(bytes[offset]) { offset += 1 }
  return offset
}

/// Returns how many of the eight bytes at an offset are plain before the first one that is not.
@inline(__always)
private func plainCount(of bytes: Span<UInt8>, at offset: Int) -> Int {
  marks(in: bytes, at: offset).trailingZeroBitCount / 8
}

/// Marks the first of the eight bytes at an offset that is not plain, by its highest bit.
///
/// No bit is set for the bytes before it. The first byte is the lowest of the word.
///
/// The terms mark these bytes: above 0x7F, 0x7F, below 0x20, a quote, a backslash. Only such a byte
/// carries or borrows into the next one.
@inline(__always)
private func marks(in bytes: Span<UInt8>, at offset: Int) -> UInt64 {
  let word = UInt64(
    littleEndian: unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  let ones: UInt64 = 0x0101_0101_0101_0101
  let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
  let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
  let marks =
    word | (word &+ ones) | (word &- ones &* 0x20) | (quotes &- ones) | (backslashes &- ones)
  return marks & (ones &* 0x80)
}

/// Returns the escape for the character at an offset, and its length in UTF-8.
///
/// Returns `nil` for a character that needs no escape. JSON allows unescaped DEL and C1, but
/// terminals execute them.
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
    let isText = bytes[start] != 0 && (try? utf8Scalar(bytes, at: &offset)) != nil
    guard isText else { return nil }
    count += escape(at: start, of: bytes)?.text.utf8.count ?? offset - start
  }
  return count
}
