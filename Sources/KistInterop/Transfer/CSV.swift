internal import KistCore

extension Secret {
  /// The most fields of a row.
  private static let mostFields = 128

  /// Lends the fields of each row of a CSV file (RFC 4180), and the number of its first line.
  ///
  /// Lines are counted from 1; blank lines are skipped.
  func forEachRow(
    _ body: ([Secret], Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withBytes { (bytes) throws(StorageError) in
      var (offset, line) = (bytes.afterByteOrderMark, 1)
      var (fields, start): ([Secret], Int) = ([], 1)
      while offset < bytes.count {
        let field = try nextField(of: bytes, at: &offset, line: &line)
        guard fields.count < Self.mostFields else {
          throw .unreadable("a row of more than \(Self.mostFields) fields", line: start)
        }
        fields.append(field)
        if offset < bytes.count, bytes[offset] == UInt8(ascii: ",") {
          offset += 1
          // After a comma at the very end there is an empty field.
          if offset < bytes.count { continue }
          fields.append(Secret(utf8: ""))
        }
        if fields.count > 1 || !fields[0].isEmpty { try body(fields, start) }
        fields = []
        if offset < bytes.count, bytes[offset] == UInt8(ascii: "\r") { offset += 1 }
        if offset < bytes.count, bytes[offset] == UInt8(ascii: "\n") {
          offset += 1
          line += 1
        }
        start = line
      }
    }
  }
}

/// Reads a field up to the comma or the end of the line after it.
private func nextField(
  of bytes: Span<UInt8>, at offset: inout Int, line: inout Int
) throws(StorageError) -> Secret {
  guard bytes[offset] == UInt8(ascii: "\"") else {
    let start = offset
    while offset < bytes.count, !isEndOfField(bytes[offset]) { offset += 1 }
    return Secret(copying: bytes.extracting(start..<offset))
  }
  var field = WipedBytes()
  let start = line
  offset += 1
  while offset < bytes.count {
    let byte = bytes[offset]
    offset += 1
    if byte == UInt8(ascii: "\"") {
      guard offset < bytes.count, bytes[offset] == byte else {
        guard offset == bytes.count || isEndOfField(bytes[offset]) else {
          throw .unreadable("there is text after a quoted field", line: line)
        }
        return Secret(field)
      }
      offset += 1
    }
    if byte == UInt8(ascii: "\n") { line += 1 }
    field.append(byte)
  }
  throw .unreadable("a quote is not closed", line: start)
}

private func isEndOfField(_ byte: UInt8) -> Bool {
  byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
}
