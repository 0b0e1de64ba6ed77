/// Whether a byte is ASCII that stands in a string as it is, as nearly every byte does.
@inline(__always) func isPlain(_ byte: UInt8) -> Bool {
  byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
}

/// Where the plain bytes that begin at an offset end.
func plainEnd(of bytes: Span<UInt8>, from start: Int) -> Int {
  var offset = start
  // A large secret is looked at in a quarter of the time so, and a step is no dearer than one of eight.
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
  // The last eight once more, in one step, where those that were looked at are known to be plain.
  let last = bytes.count - 8
  if last >= start { return last + plainCount(of: bytes, at: last) }
  while offset < bytes.count, isPlain(bytes[offset]) { offset += 1 }
  return offset
}

/// How many of the eight bytes at an offset are plain before one is not.
@inline(__always)
private func plainCount(of bytes: Span<UInt8>, at offset: Int) -> Int {
  marks(in: bytes, at: offset).trailingZeroBitCount / 8
}

/// The highest bit of each of the eight bytes at an offset, the first of them the lowest of the word:
/// set in the first byte that is not plain, and in none before it.
///
/// Each term sets it in a byte that is above 0x7F, or 0x7F, or below 0x20, or a quote, or a backslash.
/// Only such a byte carries, or borrows, into the next.
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

/// How the character that begins at an offset is escaped in a string, and its length in UTF-8; `nil`
/// for what stands as it is.
///
/// JSON would let DEL and C1 stand, but terminals obey them.
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
  // The second byte of a character of C1 is its number.
  case 0xC2 where offset + 1 < utf8.count && utf8[offset + 1] < 0xA0:
    (unicodeEscape(of: utf8[offset + 1]), 2)
  default: nil
  }
}

private func unicodeEscape(of control: UInt8) -> String {
  (control < 0x10 ? "\\u000" : "\\u00") + String(control, radix: 16)
}

/// How many bytes a text takes up between the quotes of a JSON string; `nil` if it is not UTF-8 or
/// has a NUL in it, with which much of the software that reads strings would end them.
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
