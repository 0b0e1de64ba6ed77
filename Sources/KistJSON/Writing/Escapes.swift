/// Whether a byte is ASCII that stands in a string as it is, as nearly every byte does.
@inline(__always) func isPlain(_ byte: UInt8) -> Bool {
  byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
}

/// How a byte is escaped in a string; `nil` for the bytes that JSON lets stand as they are.
func escape(of byte: UInt8) -> String? {
  switch byte {
  case UInt8(ascii: "\""): "\\\""
  case UInt8(ascii: "\\"): "\\\\"
  case 0x20...: nil
  case 0x08: "\\b"
  case 0x09: "\\t"
  case 0x0A: "\\n"
  case 0x0C: "\\f"
  case 0x0D: "\\r"
  default: (byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16)
  }
}

/// How many bytes a text takes up between the quotes of a JSON string; `nil` if it is not UTF-8 or
/// has a NUL in it, with which much of the software that reads strings would end them.
package func textCount(of bytes: Span<UInt8>) -> Int? {
  var count = 0
  var offset = 0
  while offset < bytes.count {
    switch bytes[offset] {
    case let byte where isPlain(byte):
      count += 1
      offset += 1
    case 0: return nil
    case 0x80...:
      let start = offset
      guard (try? utf8Scalar(bytes, at: &offset)) != nil else { return nil }
      count += offset - start
    case let byte:
      count += escape(of: byte)?.utf8.count ?? 1
      offset += 1
    }
  }
  return count
}
