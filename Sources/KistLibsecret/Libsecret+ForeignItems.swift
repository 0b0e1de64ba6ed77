package import KistCore

extension Libsecret {
  /// The items of other programs in the keyrings of the session.
  package struct ForeignItems: Sendable {
    /// The attributes and the value of each item, as stored; the value is `nil` if it is missing.
    package var items: [(attributes: [String: String], value: Secret?)] = []
    /// The number of items in locked keyrings.
    package var locked = 0
  }

  /// Returns the items of other programs that have one of these sets of attributes.
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
            hint: "unlock it, or have it ask for its password: at a terminal, without --no-prompt")
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
      for search in searches {
        var locked: Set<ObjectPath> = []
        all.items += try await provider.found(
          with: search, whenLocked: { locked.formUnion($0) }
        ) { path, attributes in (attributes, try await provider.value(of: path)) }
        all.locked += locked.count
      }
      return all
    }
  }
}
