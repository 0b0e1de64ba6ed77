/// A credential's key as a URI: `kist://SERVICE/ACCOUNT`, or `kist://SERVICE`.
///
/// Both parts are percent-encoded (RFC 3986 §2.1), except the unreserved characters. The decoded
/// bytes must be UTF-8. Encoding a key and decoding it returns the same key.
public struct CredentialReference: Hashable, Sendable, CustomStringConvertible {
  /// The prefix of every reference.
  package static let scheme = "kist://"

  /// The hint of an error about a reference that cannot be parsed.
  package static let hint =
    "for the service https://github.com, write kist://https%3A%2F%2Fgithub.com/alice: percent-encode "
    + "everything except letters, digits and -._~; `kist list --references` prints the references"

  /// The key of the credential.
  public let key: CredentialKey

  /// Makes the reference of a key.
  public init(_ key: CredentialKey) { self.key = key }

  /// Parses a reference; `nil` where the text is not one.
  public init?(_ text: String) {
    guard text.utf8.starts(with: Self.scheme.utf8) else { return nil }
    let parts = text.utf8.dropFirst(Self.scheme.utf8.count)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard
      (1...2).contains(parts.count),
      let service = percentDecoded(parts[0]), !service.isEmpty,
      let account = percentDecoded(parts.count == 2 ? parts[1] : Substring().utf8)
    else { return nil }
    key = CredentialKey(service: service, account: account)
  }

  /// The reference as text.
  public var description: String {
    Self.scheme + percentEncoded(key.service)
      + (key.account.isEmpty ? "" : "/" + percentEncoded(key.account))
  }
}

private func isUnreserved(_ byte: UInt8) -> Bool {
  switch Unicode.Scalar(byte) {
  case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": true
  default: false
  }
}

private func percentEncoded(_ text: String) -> String {
  text.utf8.reduce(into: "") { encoded, byte in
    if isUnreserved(byte) {
      encoded.unicodeScalars.append(Unicode.Scalar(byte))
    } else {
      encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
    }
  }
}

private func percentDecoded(_ text: Substring.UTF8View) -> String? {
  var bytes: [UInt8] = []
  var rest = text
  while var byte = rest.popFirst() {
    if byte == UInt8(ascii: "%") {
      guard let high = rest.popFirst()?.hexadecimalValue,
        let low = rest.popFirst()?.hexadecimalValue
      else { return nil }
      byte = high << 4 | low
    } else if !isUnreserved(byte) {
      return nil
    }
    bytes.append(byte)
  }
  return String(validating: bytes, as: UTF8.self)
}
