internal import KistCore

extension Keyring {
  /// Begins to watch, even while the keyring is locked.
  func watch(_ request: WatchRequest) async throws(StorageError) -> CredentialChanges {
    let told = try watchers.watch(request) { () throws(StorageError) in nil }
    try await perform { deadline in
      await changes.enter()
      defer { changes.leave() }
      if following != nil { return }
      following = try await follow(by: deadline)
      Task { await tellOfChanges() }
    }
    return told
  }

  /// Notifies watchers of a change by this process: an item that was made, or was deleted.
  func tell(of item: Item?, at path: ObjectPath) {
    if let following { watchers.tell(following.put(item, at: path)) }
  }

  private func follow(by deadline: Deadline) async throws -> ItemWatch {
    try await asking(by: deadline) { provider in
      let items = ItemWatch(of: provider.service)
      try await items.readAll(from: provider)
      return items
    }
  }

  /// Notifies watchers of changes to the items while there are any watchers.
  ///
  /// This process makes no changes while it reads the items.
  private func tellOfChanges() async {
    while let items = following {
      await items.wait()
      await changes.enter()
      defer { changes.leave() }
      guard watchers.areThere, !isClosed else { break }
      do throws(StorageError) {
        watchers.tell(try await perform { try await news(of: items, by: $0) })
      } catch {
        watchers.dismiss(error)
        break
      }
    }
    following = nil
  }

  private func news(of items: ItemWatch, by deadline: Deadline) async throws -> [CredentialChange] {
    if items.isCutOff {
      disconnect(from: items.service)
      throw BusError.disconnected
    }
    guard items.hasSuccessor else {
      do { return try await items.changes(by: deadline) } catch BusError.disconnected,
        BusError.noOwner
      {
        // A signal reports when the provider is back.
        items.forget()
        return []
      }
    }
    disconnect(from: items.service)
    following = try await follow(by: deadline)
    return [.reset]
  }
}
