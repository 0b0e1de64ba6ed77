internal import KistCore

extension GitMessage {
  /// The most bytes of a line, without its newline, that git can send.
  private static let longestLine = 65_534

  /// Reads lines of `key=value` up to the first blank line or the end; ignores unknown keys.
  init(reading input: Secret) throws(StorageError) {
    try input.withBytes { (bytes) throws(StorageError) in
      var start = 0
      while start < bytes.count {
        let end = bytes.firstOffset(of: UInt8(ascii: "\n"), from: start) ?? bytes.count
        if end == start { break }
        try take(bytes.extracting(start..<end))
        start = end + 1
      }
    }
    try checkNames()
  }

  private mutating func take(_ line: Span<UInt8>) throws(StorageError) {
    guard line.count <= Self.longestLine else {
      throw .tooLarge("a line of git's", limit: Self.longestLine, size: line.count)
    }
    guard let equals = line.firstOffset(of: UInt8(ascii: "="), from: 0), equals > 0 else {
      throw .badRequest("a line of git's is not key=value")
    }
    let value = line.extracting((equals + 1)...)
    switch try? text(line.extracting(..<equals)) {
    case "protocol": scheme = try text(value)
    case "host": host = try text(value)
    case "path": path = try text(value)
    case "username": username = try text(value)
    case "password": password = try secret(value)
    case "password_expiry_utc":
      passwordExpiry = Int64(try text(value)).flatMap(Timestamp.init(secondsSinceEpoch:))
    case "oauth_refresh_token": refreshToken = try secret(value)
    case "authtype": authtype = try text(value)
    case "credential": credential = try secret(value)
    case "ephemeral": isEphemeral = ["1", "true", "yes", "on"].contains(try text(value))
    case "capability[]":
      switch try text(value) {
      case "": knowsAuthtype = false  // empties the list
      case "authtype": knowsAuthtype = true
      default: break
      }
    default: break
    }
  }

  /// Refuses names that would give two services the same key.
  private func checkNames() throws(StorageError) {
    if let scheme, scheme.isEmpty || !scheme.utf8.allSatisfy(isPartOfScheme) {
      throw .badRequest("git's protocol is not the scheme of a URL")
    }
    if let host, host.utf8.contains(UInt8(ascii: "/")) {
      throw .badRequest("git's host has a slash in it")
    }
  }
}

/// Whether a byte may be in a scheme: RFC 3986 §3.1.
private func isPartOfScheme(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"),
    UInt8(ascii: "."):
    true
  default: false
  }
}

private func text(_ bytes: Span<UInt8>) throws(StorageError) -> String {
  try checkValue(bytes)
  guard let text = String(validating: bytes) else {
    throw .badRequest("what git sent is not UTF-8")
  }
  return text
}

private func secret(_ bytes: Span<UInt8>) throws(StorageError) -> Secret {
  try checkValue(bytes)
  return Secret(copying: bytes)
}

/// Refuses a value that git would not accept back.
private func checkValue(_ bytes: Span<UInt8>) throws(StorageError) {
  guard isOneLine(bytes) else {
    throw .badRequest("what git sent has a CR or a NUL in it")
  }
}
