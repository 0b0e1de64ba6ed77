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
        save: keyring.onLoop { keyring, request throws(StorageError) in
          try await keyring.save(request)
        },
        load: keyring.onLoop { keyring, request throws(StorageError) in
          try await keyring.load(request)
        },
        delete: keyring.onLoop { keyring, request throws(StorageError) in
          try await keyring.delete(request)
        },
        find: keyring.onLoop { keyring, query throws(StorageError) in
          try await keyring.find(query)
        }
      ).enforcingLimits(now: options.now),
      // These requests are so rare that they may switch threads at each answer.
      access: StorageAccess(
        status: { () throws(StorageError) in try await keyring.status() },
        lock: { () throws(StorageError) in try await keyring.lock() },
        unlock: { passphrase throws(StorageError) in try await keyring.unlock(passphrase) }),
      durability: .provider, close: { await keyring.close() })
    storage.watch = WatchCredentials { request throws(StorageError) in
      try await keyring.watch(request)
    }
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
    _ body: @escaping @Sendable (Keyring, Input) async throws(StorageError) -> Output
  ) -> @Sendable (Input) async throws(StorageError) -> Output {
    { [self] input throws(StorageError) in
      try await withTaskExecutorPreference(loop) { () async throws(StorageError) in
        try await body(self, input)
      }
    }
  }
}
