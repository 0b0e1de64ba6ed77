internal import KistCore

/// The items that keep credentials.
extension SecretService {
  /// Calls that are under way at a time; a bus that is not configured otherwise allows 128.
  private static let batch = 64
  /// How often items that went away meanwhile are looked for again.
  private static let rounds = 16

  /// The items of a key, the newest first.
  func items(of key: CredentialKey, by deadline: Deadline) async throws -> [Item] {
    try await items(with: Item.attributes(of: key), by: deadline)
      .filter { $0.summary.key == key }
      .sorted { $0.isNewer(than: $1) }
  }

  /// The items that have these attributes.
  ///
  /// One that went away meanwhile may have been replaced by another: then it is looked for again.
  func items(with attributes: [String: String], by deadline: Deadline) async throws -> [Item] {
    var items: [Item] = []
    var seen: Set<ObjectPath> = []
    for _ in 0..<Self.rounds {
      var isWhole = true
      let new = try await search(attributes, by: deadline).filter { seen.insert($0).inserted }
      for start in stride(from: 0, to: new.count, by: Self.batch) {
        let read = try await self.items(
          at: new[start..<min(start + Self.batch, new.count)], by: deadline)
        items += read.items
        isWhole = isWhole && read.areWhole
      }
      if isWhole { return items }
    }
    throw BusError.malformed
  }

  /// The credential of a key; `nil` where there is none.
  func credential(of key: CredentialKey, by deadline: Deadline) async throws -> Credential? {
    for _ in 0..<Self.rounds {
      let paths = try await search(Item.attributes(of: key), by: deadline)
      // Values and attributes are asked for together: a load takes two round trips.
      let values = paths.isEmpty ? nil : try startGettingSecrets(of: paths, by: deadline)
      let (items, areWhole) = try await items(at: paths[...], by: deadline)
      let newest = items.filter { $0.summary.key == key }.max { $1.isNewer(than: $0) }
      if let newest, let value = try await secret(of: newest.path, in: values) {
        return Credential(summary: newest.summary, secret: try ItemValue.decode(value))
      }
      if newest == nil, areWhole { return nil }
    }
    throw BusError.malformed
  }

  /// An item; `nil` when it is gone or somebody else's.
  func item(at path: ObjectPath, by deadline: Deadline) async throws -> Item? {
    try await items(at: [path], by: deadline).items.first
  }

  /// The value of an item as it is stored; `nil` when the item is gone.
  func value(of item: ObjectPath, by deadline: Deadline) async throws -> Secret? {
    try await secret(of: item, in: startGettingSecrets(of: [item], by: deadline))
  }

  private func secret(
    of item: ObjectPath, in reply: PendingReply<Variant>?
  ) async throws(BusError) -> Secret? {
    let values = try await reply?.value().children[0].children ?? []
    for entry in values {
      let parts = entry.children
      if parts[0].objectPath == item { return try session.decode(parts[1]) }
    }
    return nil
  }

  /// Reads items; those that are somebody else's are left out, and so are those that are gone, of
  /// which there were none when they are whole.
  private func items(
    at paths: ArraySlice<ObjectPath>, by deadline: Deadline
  ) async throws -> (items: [Item], areWhole: Bool) {
    let replies = try paths.map { try startGettingAttributes(of: $0, by: deadline) }
    var items: [Item] = []
    var areWhole = true
    for (path, reply) in zip(paths, replies) {
      do {
        let attributes = try await reply.value().children[0].unboxed
        guard attributes.isOfType("a{ss}") else { throw BusError.malformed }
        let item = try await Item(at: path, attributes.strings) {
          try await properties(of: path, by: deadline)
        }
        if let item { items.append(item) }
      } catch BusError.noSuchObject { areWhole = false }
    }
    return (items, areWhole)
  }
}
