package import KistCore

extension Secret {
  /// Lends each line, without its LF or CR LF, and its number, counted from 1.
  package func forEachLine(
    _ body: (Span<UInt8>, Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withBytes { (bytes) throws(StorageError) in
      var (start, number) = (bytes.afterByteOrderMark, 1)
      while start < bytes.count {
        let newline = bytes.firstOffset(of: UInt8(ascii: "\n"), from: start)
        var end = newline ?? bytes.count
        if newline != nil, end > start, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        try body(bytes.extracting(start..<end), number)
        start = (newline ?? bytes.count) + 1
        number += 1
      }
    }
  }

  /// Whether the first character is the opening brace of a JSON object.
  var beginsAsJSON: Bool {
    withBytes { bytes in
      let start = (bytes.afterByteOrderMark..<bytes.count).first {
        !isBlank(bytes[$0]) && !isEndOfLine(bytes[$0])
      }
      return start.map { bytes[$0] == UInt8(ascii: "{") } ?? false
    }
  }

  /// Whether it begins like a ZIP archive with files (APPNOTE.TXT, 4.3.7).
  var beginsAsArchive: Bool {
    let signature: [UInt8] = [0x50, 0x4b, 0x03, 0x04]
    return withBytes { bytes in
      bytes.count >= signature.count && signature.indices.allSatisfy { bytes[$0] == signature[$0] }
    }
  }

  /// Whether it equals a word in lower case, ignoring its own case.
  ///
  /// It makes no copy, because there may be a secret in place of a word.
  func isWord(_ word: String) -> Bool {
    withBytes { bytes in
      word.withBytes { word in
        bytes.count == word.count
          && word.indices.allSatisfy { offset in
            let byte = bytes[offset]
            let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            return (isUpper ? byte | 0x20 : byte) == word[offset]
          }
      }
    }
  }

  /// Returns a part of the bytes.
  func part(_ range: Range<Int>) -> Secret { withBytes { Secret(copying: $0.extracting(range)) } }
}
