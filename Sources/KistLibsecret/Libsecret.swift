package import KistCore

/// A storage that keeps credentials in the user's keyring, through the Secret Service.
package enum Libsecret {
  /// How the keyring is used.
  package struct Options: Sendable {
    /// The address of the session bus; none where there is `nil`, and none is looked for elsewhere.
    package var busAddress: String?
    /// How long a request may take, with all that the provider does for it.
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

  /// Opens the storage, which never fails: it connects at the first request, and again whenever it
  /// must.
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
      ).keepingPromises(now: options.now),
      // Asked for so seldom that they may cross threads at each of their answers.
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

  /// Looks at the keyring, as far as that takes neither a prompt nor a change.
  package static func probe(_ options: Options) async -> StorageProbe {
    let keyring = Keyring(options)
    let probe = await keyring.probe()
    await keyring.close()
    return probe
  }
}

extension Keyring {
  /// A function whose calls run on the loop's thread from their beginning to their end.
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
