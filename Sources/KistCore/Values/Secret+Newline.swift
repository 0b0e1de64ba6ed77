extension Secret {
  /// The most bytes that a newline has: a file from Windows ends its lines with CR and LF.
  package static let longestNewline = 2

  /// The bytes and one LF.
  package var withNewline: Secret {
    var line = WipedBytes(capacity: count + 1)
    withBytes { line.append($0) }
    line.append(UInt8(ascii: "\n"))
    return Secret(line)
  }

  /// The bytes before one LF, or CR and LF, at the end.
  ///
  /// Whoever reads a secret that a file or a pipe holds drops its newline this way, so that the same
  /// file is the same secret everywhere.
  package var withoutNewline: Secret {
    withBytes { bytes in
      var end = bytes.count
      if end > 0, bytes[end - 1] == UInt8(ascii: "\n") {
        end -= 1
        if end > 0, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
      }
      return Secret(copying: bytes.extracting(..<end))
    }
  }
}
