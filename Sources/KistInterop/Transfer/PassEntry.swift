package import KistCore

extension ForeignCredentials {
  /// Adds an entry of `pass` or gopass: pass(1).
  ///
  /// The password is the first line. For `web/github.com/alice` the account is `alice`, and the
  /// service is the part before it. A key in PEM (RFC 7468) is imported whole.
  ///
  /// - Parameter name: The path of its file in the store, without `.gpg`.
  package mutating func addPassEntry(
    _ name: String, _ content: Secret, at place: Int
  ) throws(StorageError) {
    let parts = content.withBytes { bytes in
      let newline = bytes.firstOffset(of: UInt8(ascii: "\n"), from: 0) ?? bytes.count
      return (
        first: Secret(copying: bytes.extracting(..<newline)).withNewline.withoutNewline,
        hasMore: newline + 1 < bytes.count
      )
    }
    let isKey = parts.first.withBytes { $0.hasPrefix("-----BEGIN ") }
    let password = isKey ? content : parts.first
    guard !password.isEmpty else { return leaveOut(.withoutPassword, at: place) }
    guard !password.withBytes({ $0.hasPrefix("otpauth://") }) else {
      return leaveOut(.oneTimePassword, at: place)
    }
    var path = name.split(separator: "/")
    let account = path.count > 1 ? String(path.removeLast()) : ""
    try add(
      NewCredential(
        key: CredentialKey(service: path.joined(separator: "/"), account: account),
        secret: password),
      at: place)
    if parts.hasMore, !isKey { leaveOut(.furtherFields, at: place) }
  }
}
