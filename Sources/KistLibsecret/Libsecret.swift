package import KistCore

/// A storage that keeps credentials in the user's keyring, through the Secret Service.
package enum Libsecret {
  /// The options of the keyring.
  package struct Options: Sendable {
    /// The address of the session bus; `nil` if there is none, and kist looks for no other.
    package var busAddress: String?
    /// How long a request may take, including the work of the provider.
    package var deadline: Duration
    package var now: @Sendable () -> Timestamp

    package init(
      busAddress: String?, deadline: Duration = .seconds(30),
      now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
      self.busAddress = busAddress
      self.deadline = deadline
      self.now = now
    }
  }

  /// Opens the storage, which never fails.
  ///
  /// It connects at the first request, and again after a lost connection.
  package static func open(_ options: Options) -> OpenStorage {
    let keyring = Keyring(options)
    var storage = OpenStorage(
      credentials: UserStorage(
        save: keyring.onLoop(keyring.save), load: keyring.onLoop(keyring.load),
        delete: keyring.onLoop(keyring.delete), find: keyring.onLoop(keyring.find)
      ).enforcingLimits(now: options.now),
      // These requests are so rare that they may switch threads at each answer.
      access: StorageAccess(status: keyring.status, lock: keyring.lock, unlock: keyring.unlock),
      durability: .provider, close: keyring.close)
    storage.watch = WatchCredentials(begin: keyring.watch)
    return storage
  }

  /// Checks the keyring without a prompt or a change.
  package static func probe(_ options: Options) async -> StorageProbe {
    let keyring = Keyring(options)
    let probe = await keyring.probe()
    await keyring.close()
    return probe
  }
}

extension Keyring {
  /// Returns a function whose calls run on the loop's thread from beginning to end.
  fileprivate nonisolated func onLoop<Input: Sendable, Output: Sendable>(
    _ body: @escaping @Sendable (Input) async throws(StorageError) -> Output
  ) -> @Sendable (Input) async throws(StorageError) -> Output {
    { [loop] input throws(StorageError) in
      try await withTaskExecutorPreference(loop) { () async throws(StorageError) in
        try await body(input)
      }
    }
  }
}
