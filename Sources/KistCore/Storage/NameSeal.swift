/// What a request names: a service and an account, or, of a search, as many of the two as it has.
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
    func isSame(_ left: String?, _ right: String?) -> Bool {
      guard let left, let right else { return left == nil && right == nil }
      return left.hasSameBytes(as: right)
    }
    return isSame(left.service, right.service) && isSame(left.account, right.account)
  }
}

/// Seals what requests name under a key of the storage, for a log that lies beside it.
package struct NameSeal: Sendable {
  /// Appends names, sealed and bound to other bytes.
  package typealias Sealing = (RequestedNames, _ boundTo: Span<UInt8>, inout WipedBytes) -> Void

  /// Gives what seals the names of some requests, to be used at once; `nil` while the storage is locked.
  package var begin: @Sendable () -> Sealing?
  /// Opens what was sealed and bound to the same bytes; throws `locked`, or `corrupt` for what this
  /// storage did not seal so.
  package var open:
    @Sendable (_ sealed: Span<UInt8>, _ boundTo: Span<UInt8>) throws(StorageError) -> RequestedNames

  package init(
    begin: @escaping @Sendable () -> Sealing?,
    open:
      @escaping @Sendable (_ sealed: Span<UInt8>, _ boundTo: Span<UInt8>) throws(StorageError) ->
      RequestedNames
  ) {
    self.begin = begin
    self.open = open
  }
}
