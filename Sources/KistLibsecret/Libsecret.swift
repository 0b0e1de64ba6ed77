package import KistCore

/// A storage that keeps credentials in the user's keyring, through the Secret Service.
package enum Libsecret {
  /// How the keyring is used.
  package struct Options: Sendable {
    /// The address of the session bus; none where there is `nil`, and none is looked for elsewhere.
    package var busAddress: String?
    /// How long a request may take, everything that the provider does included.
    package var deadline: Duration
    /// The clock.
    package var now: @Sendable () -> Timestamp

    /// Makes options.
    package init(
      busAddress: String?, deadline: Duration = .seconds(30),
      now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
      self.busAddress = busAddress
      self.deadline = deadline
      self.now = now
    }
  }

  /// The storage; never fails: it connects at the first request, and again whenever it must.
  package static func open(_ options: Options) -> OpenStorage {
    let missing: @Sendable () -> StorageError = { .unavailable("no keyring yet") }
    return OpenStorage(
      credentials: UserStorage(
        save: { _ throws(StorageError) in throw missing() },
        load: { _ throws(StorageError) in throw missing() },
        delete: { _ throws(StorageError) in throw missing() },
        find: { _ throws(StorageError) in throw missing() }),
      access: StorageAccess(
        status: { () throws(StorageError) in throw missing() },
        lock: { () throws(StorageError) in throw missing() },
        unlock: { _ throws(StorageError) in throw missing() }),
      close: {})
  }

  /// Looks at the keyring: bus, provider, session, default collection; nothing is prompted or written.
  package static func probe(_ options: Options) async -> StorageProbe {
    .unusable(.unavailable("no keyring yet"))
  }
}

extension StorageError {
  static func unavailable(_ message: String, hint: String? = nil) -> StorageError {
    StorageError(.unavailable, message, hint: hint)
  }
}
