internal import KistCore

/// Writes a helper's answer to git: lines of `key=value`.
struct GitWriter: ~Copyable {
  private var text = WipedBytes(capacity: 256)

  mutating func line(_ key: StaticString, _ value: String) throws(StorageError) {
    try line(key, Secret(utf8: value))
  }

  /// Writes a line; throws for a value that would be two lines, or that git would misread.
  mutating func line(_ key: StaticString, _ value: Secret) throws(StorageError) {
    guard value.withBytes(isOneLine) else {
      throw StorageError(
        .badRequest, "the credential has a line break or a NUL in it, and git takes neither",
        hint: "save it again without: `kist save` drops one newline at the end")
    }
    begin(key)
    text.reserve(value.count + 1)
    value.withBytes { text.append($0) }
    text.append(UInt8(ascii: "\n"))
  }

  consuming func finish() -> Secret { Secret(text) }

  private mutating func begin(_ key: StaticString) {
    key.withBytes { text.append($0) }
    text.append(UInt8(ascii: "="))
  }
}

/// Whether the bytes contain no LF, CR or NUL.
func isOneLine(_ bytes: Span<UInt8>) -> Bool {
  bytes.indices.allSatisfy {
    bytes[$0] != UInt8(ascii: "\n") && bytes[$0] != UInt8(ascii: "\r") && bytes[$0] != 0
  }
}
