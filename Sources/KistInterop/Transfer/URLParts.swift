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
