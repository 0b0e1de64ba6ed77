package import KistCore

/// A change to interrupt, and the state before it.
package enum InterruptedChange: String, CaseIterable, Sendable, CustomStringConvertible {
  case insert = "a save of a new credential"
  case replace = "a save over another"
  case replaceWhatWasLeft = "a save over two items that a crash left"
  case delete = "a delete"
  case deleteWhatWasLeft = "a delete of two items that a crash left"

  package var description: String { rawValue }

  /// The credential before the change, if any.
  var old: NewCredential? {
    switch self {
    case .insert: nil
    case .replace, .delete: .first
    case .replaceWhatWasLeft, .deleteWhatWasLeft: .second
    }
  }

  /// The credential after the change, if any.
  var new: NewCredential? {
    switch self {
    case .insert, .replace, .replaceWhatWasLeft: .third
    case .delete, .deleteWhatWasLeft: nil
    }
  }

  /// A call that the change must contain.
  var member: String { new == nil ? "Delete" : "CreateItem" }

  func prepare(by access: KeyringAccess, on bus: PrivateBus) async throws {
    guard old != nil else { return }
    try await access(bus.address) { storage, _ in try await storage.save(.first) }
    guard old == .second else { return }
    try await withBusProxy(to: bus) { proxy in
      try await access(proxy.address) { storage, kill in
        proxy.count(stoppingAt: .afterFirst("CreateItem")) {
          kill()
          proxy.cut()
        }
        _ = try? await storage.save(.second)
      }
    }
  }

  func carryOut(on storage: UserStorage) async throws(StorageError) {
    if let new {
      try await storage.save(new)
    } else {
      try await storage.delete(.interrupted)
    }
  }
}

/// Access to a keyring through kist.
package struct KeyringAccess: Sendable {
  /// Uses a storage; `kill` kills the process that serves it, if it is a separate process.
  package typealias Body =
    @Sendable (_ storage: UserStorage, _ kill: @escaping @Sendable () -> Void) async throws -> Void

  private let run: @Sendable (_ busAddress: String, Body) async throws -> Void

  /// Creates an access from a function that runs a body with a storage on the bus at an address.
  package init(_ run: @escaping @Sendable (_ busAddress: String, Body) async throws -> Void) {
    self.run = run
  }

  func callAsFunction(_ busAddress: String, _ body: Body) async throws {
    try await run(busAddress, body)
  }
}

extension CredentialKey {
  static let interrupted = CredentialKey(service: "example.org", account: "alice")
}

/// Credentials that differ in every part, so that a mixture is detected.
extension NewCredential {
  static let first = NewCredential(
    key: .interrupted, secret: Secret(utf8: "one"), label: "1", attributes: ["a": "1"],
    expiresAt: Timestamp(rfc3339: "2101-01-01T00:00:00Z"))
  static let second = NewCredential(
    key: .interrupted, secret: Secret(utf8: "two\n"), label: "2", attributes: ["b": "2"])
  static let third = NewCredential(
    key: .interrupted, secret: Secret(utf8: "three"), attributes: ["a": "3", "c": "3"],
    expiresAt: Timestamp(rfc3339: "2103-01-01T00:00:00Z"))
  static let next = NewCredential(key: .interrupted, secret: Secret(utf8: "next"), label: "n")
}
