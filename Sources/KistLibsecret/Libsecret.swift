package import KistCore

/// A storage that keeps credentials in the user's keyring, through the Secret Service.
package enum Libsecret {
  /// The options of the keyring.
  package struct Options: Sendable {
    /// The address of the session bus; `nil` if there is none, and kist looks for no other.
    package var busAddress: String?
    /// How long a request may take, including the work of the provider.
    package var deadline: Duration
    /// Called when the bus closes the connection.
    package var whenBusEnds: @Sendable () -> Void
    package var now: @Sendable () -> Timestamp

    package init(
      busAddress: String?, deadline: Duration = .seconds(30),
      whenBusEnds: @escaping @Sendable () -> Void = {},
      now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
      self.busAddress = busAddress
      self.deadline = deadline
      self.whenBusEnds = whenBusEnds
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

extension Libsecret {
  /// The items of other programs in the keyrings of the session.
  package struct ForeignItems: Sendable {
    package var items: [KeyringItem] = []
    /// The number of items in locked keyrings.
    package var locked = 0
    /// The labels of the open items that have none of the sets of attributes.
    package var others: [String] = []
  }

  /// Returns the items of other programs that have one of these sets of attributes, and the labels of
  /// the rest.
  ///
  /// The default keyring must be open. Other keyrings stay locked, unless the user unlocks them.
  ///
  /// - Parameter prompting: whether locked keyrings first ask for their passwords.
  package static func foreignItems(
    with searches: [[String: String]], prompting: Bool, _ options: Options
  ) async throws(StorageError) -> ForeignItems {
    let keyring = Keyring(options)
    do throws(StorageError) {
      if try await keyring.status().isLocked {
        guard prompting else {
          throw .locked(
            "the keyring is locked",
            hint:
              "unlock it, or let its provider ask for the password: at a terminal, without --no-prompt"
          )
        }
        _ = try await keyring.unlock(nil)
      }
      if prompting { try await keyring.unlockForeignItems(with: searches) }
      let items = try await keyring.foreignItems(with: searches)
      await keyring.close()
      return items
    } catch {
      await keyring.close()
      throw error
    }
  }
}

extension Keyring {
  /// Unlocks the keyrings that contain such items, with a prompt if necessary.
  fileprivate func unlockForeignItems(with searches: [[String: String]]) async throws(StorageError)
  {
    try await asking { provider in
      var locked: [ObjectPath] = []
      for search in searches { _ = try await provider.search(search) { locked += $0 } }
      guard !locked.isEmpty, let prompt = try await provider.unlock(locked) else { return }
      do throws(BusError) {
        _ = try await provider.show(prompt).isAccepted(by: provider.deadline)
      } catch {
        guard error == .timeout else { throw error }
      }
    }
  }

  fileprivate func foreignItems(
    with searches: [[String: String]]
  ) async throws(StorageError) -> Libsecret.ForeignItems {
    try await asking { provider in
      var all = Libsecret.ForeignItems()
      // The items of kist are known, too. They are not imported, and not counted.
      let own = Item.attributes(of: CredentialQuery())
      var ownLocked: [ObjectPath] = []
      var known = Set(try await provider.search(own) { ownLocked = $0 })
      for search in searches {
        all.items += try await provider.found(with: search, whenLocked: { _ in }) {
          path, attributes in
          known.insert(path)
          return try await provider.foreignItem(at: path, attributes)
        }
      }
      var locked: Set<ObjectPath> = []
      let found = Set(try await provider.search([:], whenLocked: { locked = Set($0) }))
      for path in found.subtracting(known) {
        // Its program may have deleted it meanwhile.
        all.others.append((try? await provider.label(of: path)) ?? "")
      }
      all.others.sort()
      all.locked = locked.subtracting(ownLocked).count
      return all
    }
  }
}
