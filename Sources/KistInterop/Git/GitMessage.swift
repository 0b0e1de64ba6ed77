internal import KistCore

/// A message from git to a helper: git-credential(1), "INPUT/OUTPUT FORMAT".
struct GitMessage: Sendable, Equatable {
  var scheme: String?
  /// The host with its port.
  var host: String?
  var path: String?
  var username: String?
  var password: Secret?
  var passwordExpiry: Timestamp?
  var refreshToken: Secret?
  /// The scheme of an `Authorization` header; `credential` is the other part.
  var authtype: String?
  var credential: Secret?
  /// Whether git forbids storing the message.
  var isEphemeral = false
  /// Whether this git knows `authtype` and `credential`.
  var knowsAuthtype = false
}

extension GitMessage {
  /// The service of the matching credentials: `scheme://host[:port][/path]`.
  ///
  /// It is `nil` if it could match any host. A scheme has no colon and a host has no slash, so
  /// different requests have different services.
  var service: String? {
    guard let scheme, host != nil || path != nil else { return nil }
    return "\(scheme)://\(host ?? "")" + (path.map { "/\($0)" } ?? "")
  }

  /// The service of credentials that the user saved by the host alone; `nil` except for https.
  ///
  /// It is also `nil` for a path, because the user then wants a credential for each repository.
  var bareHost: String? {
    guard scheme == "https", path == nil, let host else { return nil }
    return KistInterop.bareHost(host)
  }

  /// The attributes that distinguish the credentials that git saved.
  var attributes: Attributes {
    var attributes = Tool.git.attributes
    attributes["protocol"] = scheme
    attributes["host"] = host
    attributes["path"] = path
    return attributes
  }

  static func refreshKey(of key: CredentialKey) -> CredentialKey {
    CredentialKey(service: "oauth_refresh_token:" + key.service, account: key.account)
  }

  /// The maximum size of a line from git, in bytes without its newline.
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
      throw .tooLarge("a line from git", limit: Self.longestLine, size: line.count)
    }
    guard let equals = line.firstOffset(of: UInt8(ascii: "="), from: 0), equals > 0 else {
      throw .badRequest("a line from git is not key=value")
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
    // RFC 3986 §3.1
    if let scheme, scheme.isEmpty || !scheme.utf8.allSatisfy({ isAlphanumeric($0, or: "+-.") }) {
      throw .badRequest("git's protocol is not the scheme of a URL")
    }
    if let host, host.utf8.contains(UInt8(ascii: "/")) {
      throw .badRequest("git's host has a slash in it")
    }
  }
}

private func text(_ bytes: Span<UInt8>) throws(StorageError) -> String {
  guard let text = try secret(bytes).validText else {
    throw .badRequest("git sent text that is not UTF-8")
  }
  return text
}

/// Returns a value; refuses one that git would not accept back.
private func secret(_ bytes: Span<UInt8>) throws(StorageError) -> Secret {
  guard isOneLine(bytes) else { throw .badRequest("git sent a CR or a NUL byte") }
  return Secret(copying: bytes)
}

/// Writes a helper's answer to git: lines of `key=value`.
struct GitWriter: ~Copyable {
  private var text = WipedBytes(capacity: 256)

  mutating func line(_ key: StaticString, _ value: String) throws(StorageError) {
    try line(key, Secret(utf8: value))
  }

  /// Writes a line; throws for a value that would be two lines, or that git would misread.
  mutating func line(_ key: StaticString, _ value: Secret) throws(StorageError) {
    guard value.withBytes(isOneLine) else {
      throw .badRequest(
        "the credential contains a line break or a NUL byte, and git accepts neither",
        hint: "save it again without them; `kist save` drops one newline at the end")
    }
    key.withBytes { text.append($0) }
    text.append(UInt8(ascii: "="))
    value.withBytes { text.append($0) }
    text.append(UInt8(ascii: "\n"))
  }

  consuming func finish() -> Secret { Secret(text) }
}

/// Whether the bytes contain no LF, CR or NUL.
func isOneLine(_ bytes: Span<UInt8>) -> Bool {
  bytes.indices.allSatisfy {
    bytes[$0] != UInt8(ascii: "\n") && bytes[$0] != UInt8(ascii: "\r") && bytes[$0] != 0
  }
}
