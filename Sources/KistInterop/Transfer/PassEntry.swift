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
    let newline = content.withBytes { $0.firstOffset(of: UInt8(ascii: "\n"), from: 0) }
    let end = newline ?? content.count
    let first = content.part(0..<end).withNewline.withoutNewline
    let isKey = first.withBytes { $0.hasPrefix("-----BEGIN ") }
    let password = isKey ? content : first
    guard !password.isEmpty else { return leaveOut(.withoutPassword, at: place) }
    guard !password.withBytes({ $0.hasPrefix("otpauth://") }) else {
      return leaveOut(.oneTimePassword, at: place)
    }
    var path = name.split(separator: "/")
    let account = path.count > 1 ? String(path.removeLast()) : ""
    let key = CredentialKey(service: path.joined(separator: "/"), account: account)
    try add(NewCredential(key: key, secret: password), at: place)
    if end + 1 < content.count, !isKey { leaveOut(.furtherFields, at: place) }
  }
}
