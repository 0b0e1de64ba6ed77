internal import KistCore

/// The host of a URL, with its port, in lower case; `nil` where what stands in its place is none, which
/// may be a piece of a password.
func host(ofURL url: Secret) -> String? {
  url.withBytes { bytes in
    let host = bytes.extracting(URLParts(bytes).host)
    return isHost(host) ? String(validating: host)?.lowercased() : nil
  }
}

extension Secret {
  /// The first of several URLs with commas between them: what stands before a comma that another URL
  /// follows.
  var firstURL: Secret {
    withBytes { bytes in
      var start = 0
      while let comma = bytes.firstOffset(of: UInt8(ascii: ","), from: start) {
        if isURL(bytes, from: comma + 1) {
          return part(0..<comma)
        }
        start = comma + 1
      }
      return self
    }
  }

  /// Whether there may be more behind the first URL, which need not have a scheme.
  var hasComma: Bool { withBytes { $0.firstOffset(of: UInt8(ascii: ","), from: 0) != nil } }
}

/// Whether a scheme begins there, with `://` behind it.
///
/// It looks no further than a scheme goes (RFC 3986, 3.1, and `_`): it is asked behind each comma, and
/// would else read all that follows as often as there are commas.
private func isURL(_ bytes: Span<UInt8>, from start: Int) -> Bool {
  var end = start
  while end < bytes.count, isNameByte(bytes[end]) || bytes[end] == UInt8(ascii: "+") { end += 1 }
  return end > start && bytes.extracting(end...).hasPrefix("://")
}

/// Whether these are a name or an address, and behind it a port or nothing.
private func isHost(_ bytes: Span<UInt8>) -> Bool {
  let colon = UInt8(ascii: ":")
  let end: Int
  if !bytes.isEmpty, bytes[0] == UInt8(ascii: "[") {
    guard let bracket = bytes.firstOffset(of: UInt8(ascii: "]"), from: 0), bracket > 1 else {
      return false
    }
    guard (1..<bracket).allSatisfy({ isHostByte(bytes[$0]) || bytes[$0] == colon }) else {
      return false
    }
    end = bracket + 1
  } else {
    end = bytes.firstOffset(of: colon, from: 0) ?? bytes.count
    guard end > 0, (0..<end).allSatisfy({ isHostByte(bytes[$0]) }) else { return false }
  }
  guard end < bytes.count else { return true }
  let port = end + 1..<bytes.count
  return bytes[end] == colon && (1...5).contains(port.count)
    && port.allSatisfy { isASCIIDigit(bytes[$0]) }
}

/// Whether a byte may stand in the name of a host, in those of other scripts too.
private func isHostByte(_ byte: UInt8) -> Bool {
  isNameByte(byte) || byte == UInt8(ascii: ".") || byte >= 0x80
}

private func isASCIIDigit(_ byte: UInt8) -> Bool {
  (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}
