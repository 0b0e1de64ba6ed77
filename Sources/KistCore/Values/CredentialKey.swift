/// The key of a credential: a service and, where a service has several, an account.
///
/// Keys are compared byte by byte in UTF-8. The `==` of Swift strings follows Unicode equivalence,
/// so `é` and `e` with a combining accent would be one key.
public struct CredentialKey: Sendable {
  /// The service: 1 to 1,024 bytes of UTF-8 without control characters.
  public var service: String
  /// The account: 0 to 1,024 bytes of UTF-8 without control characters; empty by default.
  public var account: String

  /// Makes a key; the storage checks it against its limits.
  public init(service: String, account: String = "") {
    self.service = service
    self.account = account
  }
}

extension CredentialKey: Hashable, Comparable {
  /// Compares service and account byte by byte.
  public static func == (left: Self, right: Self) -> Bool {
    left.service.hasSameBytes(as: right.service) && left.account.hasSameBytes(as: right.account)
  }

  /// Hashes the bytes that `==` compares.
  public func hash(into hasher: inout Hasher) {
    for part in [service, account] {
      for byte in part.utf8 { hasher.combine(byte) }
      hasher.combine(0xFF as UInt8)
    }
  }

  /// Orders by the bytes of the service, then by those of the account.
  public static func < (left: Self, right: Self) -> Bool {
    left.service.hasSameBytes(as: right.service)
      ? left.account.utf8.lexicographicallyPrecedes(right.account.utf8)
      : left.service.utf8.lexicographicallyPrecedes(right.service.utf8)
  }
}
