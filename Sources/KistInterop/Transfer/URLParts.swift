internal import KistCore

/// The ranges of a URL's parts, split as git does it (git's credential.c, `credential_from_url`).
struct URLParts {
  var scheme: Range<Int>?
  var user: Range<Int>?
  var password: Range<Int>?
  /// The host with its port.
  var host: Range<Int>
  /// The path without its first slash, but with the text after a `?` or a `#`.
  var path: Range<Int>

  init(_ url: Span<UInt8>) {
    var start = 0
    if let end = url.firstOffset(of: UInt8(ascii: ":"), from: 0), end > 0, end + 2 < url.count,
      url[end + 1] == UInt8(ascii: "/"), url[end + 2] == UInt8(ascii: "/")
    {
      scheme = 0..<end
      start = end + 3
    }
    let ends = [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")]
    let end = (start..<url.count).first { ends.contains(url[$0]) } ?? url.count
    let at = (start..<end).first { url[$0] == UInt8(ascii: "@") }
    if let at {
      let colon = (start..<at).first { url[$0] == UInt8(ascii: ":") }
      user = start..<(colon ?? at)
      password = colon.map { $0 + 1..<at }
    }
    host = (at.map { $0 + 1 } ?? start)..<end
    path = (end < url.count && url[end] == UInt8(ascii: "/") ? end + 1 : end)..<url.count
  }
}

/// Returns the bytes with each `%41` decoded; everything else stays unchanged.
func percentDecoded(_ bytes: Span<UInt8>) -> Secret {
  var decoded = WipedBytes(capacity: bytes.count)
  var offset = 0
  while offset < bytes.count {
    if bytes[offset] == UInt8(ascii: "%"), offset + 2 < bytes.count,
      let high = bytes[offset + 1].hexadecimalValue, let low = bytes[offset + 2].hexadecimalValue
    {
      decoded.append(high << 4 | low)
      offset += 3
    } else {
      decoded.append(bytes[offset])
      offset += 1
    }
  }
  return Secret(decoded)
}

/// Returns the host of a URL, with its port, in lower case.
///
/// Returns `nil` if the text in its place is not a host, because it may be part of a password.
func host(ofURL url: Secret) -> String? {
  url.withBytes { bytes in
    let host = bytes.extracting(URLParts(bytes).host)
    return isHost(host) ? String(validating: host)?.lowercased() : nil
  }
}

/// Returns a host with its port, if helpers may look for credentials under this name alone.
///
/// The name must contain a full stop. A tool could otherwise get any credential of the user, such as
/// `sudo` or `aws:prod`, from a URL that somebody else wrote.
func bareHost(_ host: String) -> String? {
  let name = host.utf8.prefix { $0 != UInt8(ascii: ":") }
  return name.contains(UInt8(ascii: ".")) && host.withBytes(isHost) ? host : nil
}

/// Returns the service for an imported password of a URL.
///
/// Helpers use a bare host for https only, so a password of an http site keeps its scheme.
func service(ofURL url: Secret) -> String? {
  let isPlain = url.withBytes { bytes in
    URLParts(bytes).scheme.map { Secret(copying: bytes.extracting($0)).isWord("http") } ?? false
  }
  return host(ofURL: url).map { isPlain ? "http://" + $0 : $0 }
}

extension Secret {
  /// The first of several URLs: it ends before a comma that another URL follows.
  var firstURL: Secret {
    withBytes { bytes in
      var start = 0
      while let comma = bytes.firstOffset(of: UInt8(ascii: ","), from: start) {
        if isURL(bytes, from: comma + 1) { return part(0..<comma) }
        start = comma + 1
      }
      return self
    }
  }

  /// Whether there is a comma, after which there may be further URLs, even without a scheme.
  var hasComma: Bool { withBytes { $0.firstOffset(of: UInt8(ascii: ","), from: 0) != nil } }
}

/// Whether a scheme with `://` begins there.
///
/// It reads no further than a scheme can go (RFC 3986, 3.1, and `_`). It is called after each comma
/// and would otherwise read the rest of the text each time.
private func isURL(_ bytes: Span<UInt8>, from start: Int) -> Bool {
  var end = start
  while end < bytes.count, isNameByte(bytes[end]) || bytes[end] == UInt8(ascii: "+") { end += 1 }
  return end > start && bytes.extracting(end...).hasPrefix("://")
}

/// Whether these bytes are a host name or an address, with an optional port.
private func isHost(_ bytes: Span<UInt8>) -> Bool {
  let colon = UInt8(ascii: ":")
  let end: Int
  if !bytes.isEmpty, bytes[0] == UInt8(ascii: "[") {
    guard let bracket = bytes.firstOffset(of: UInt8(ascii: "]"), from: 0), bracket > 1,
      (1..<bracket).allSatisfy({ isHostByte(bytes[$0]) || bytes[$0] == colon })
    else { return false }
    end = bracket + 1
  } else {
    end = bytes.firstOffset(of: colon, from: 0) ?? bytes.count
    guard end > 0, (0..<end).allSatisfy({ isHostByte(bytes[$0]) }) else { return false }
  }
  guard end < bytes.count else { return true }
  let port = end + 1..<bytes.count
  return bytes[end] == colon && (1...5).contains(port.count)
    && port.allSatisfy { (0x30...0x39).contains(bytes[$0]) }
}

/// Whether a byte may be in a host name, including names in other scripts.
private func isHostByte(_ byte: UInt8) -> Bool {
  isNameByte(byte) || byte == UInt8(ascii: ".") || byte >= 0x80
}
