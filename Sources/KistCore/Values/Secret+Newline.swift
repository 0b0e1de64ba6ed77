extension Secret {
  /// The maximum bytes of a newline: files from Windows end their lines with CR and LF.
  package static let longestNewline = 2

  /// The bytes followed by one LF.
  package var withNewline: Secret {
    var line = WipedBytes(capacity: count + 1)
    withBytes { line.append($0) }
    line.append(UInt8(ascii: "\n"))
    return Secret(line)
  }

  /// The bytes without the newline at the end if they are a single line, else all bytes.
  ///
  /// Keys in PEM and configuration files have several lines, and need the newline of the last one.
  package var withoutNewlineOfSingleLine: Secret {
    let line = withoutNewline
    let isSingle = line.withBytes { bytes in
      bytes.indices.allSatisfy { bytes[$0] != UInt8(ascii: "\n") }
    }
    return isSingle ? line : self
  }

  /// The bytes without one LF, or one CR and LF, at the end.
  ///
  /// Every reader of a passphrase from a file or a pipe uses this, so that a file always gives the
  /// same passphrase.
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
