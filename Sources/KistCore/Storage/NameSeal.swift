/// The service and account that a request names; a search may name both, one or neither.
package struct RequestedNames: Sendable {
  package var service: String?
  package var account: String?

  package init(service: String?, account: String?) {
    self.service = service
    self.account = account
  }

  package init(_ key: CredentialKey) { self.init(service: key.service, account: key.account) }
}

extension RequestedNames: Equatable {
  /// Compares byte by byte.
  package static func == (left: Self, right: Self) -> Bool {
    left.service.hasSameBytes(as: right.service) && left.account.hasSameBytes(as: right.account)
  }
}

/// Seals the names in requests and hashes lines, with keys of the storage, for the log beside it.
package struct NameSeal: Sendable {
  /// A function that appends sealed names, bound to other bytes.
  package typealias Sealing = (RequestedNames, _ boundTo: Span<UInt8>, inout WipedBytes) -> Void
  /// A function that opens sealed names, bound to other bytes.
  package typealias Opening =
    @Sendable (_ sealed: Span<UInt8>, _ boundTo: Span<UInt8>) throws(StorageError) -> RequestedNames
  /// A function that returns a keyed hash of 16 bytes, or `nil` while the storage is locked.
  package typealias Hash = @Sendable (Span<UInt8>) -> [UInt8]?

  /// Returns a function that seals the names of some requests; `nil` while the storage is locked.
  ///
  /// Use the function immediately and do not keep it.
  package var begin: @Sendable () -> Sealing?
  /// Opens sealed names that are bound to the same bytes.
  ///
  /// Throws `locked`. Throws `corrupt` for names of another storage, or bound to other bytes.
  package var open: Opening
  /// The hash that chains each line of the log to the previous one.
  package var hash: Hash

  package init(
    begin: @escaping @Sendable () -> Sealing?, open: @escaping Opening,
    hash: @escaping Hash = { _ in nil }
  ) {
    self.begin = begin
    self.open = open
    self.hash = hash
  }
}
