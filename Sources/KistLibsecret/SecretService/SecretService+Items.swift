internal import KistCore

/// The items that keep credentials.
extension SecretService {
  /// Calls that are under way at a time; a bus that is not configured otherwise allows 128.
  private static let batch = 64
  /// How often items that went away meanwhile are looked for again.
  private static let rounds = 16

  /// The items of a key, the newest first.
  func items(of key: CredentialKey, by deadline: Deadline) async throws -> [Item] {
    try await found(with: Item.attributes(of: key), by: deadline) { path, attributes in
      try await item(of: key, at: path, attributes, by: deadline)
    }.sorted { $0.isNewer(than: $1) }
  }

  /// The items that have these attributes.
  func items(with attributes: [String: String], by deadline: Deadline) async throws -> [Item] {
    try await found(with: attributes, by: deadline) { path, attributes in
      try await item(at: path, attributes, by: deadline)
    }
  }

  /// The items that have these attributes and can be read.
  func wholeItems(
    with attributes: [String: String], by deadline: Deadline
  ) async throws -> [Item] {
    try await found(with: attributes, by: deadline) { path, attributes in
      do { return try await item(at: path, attributes, by: deadline) } catch let error
        as StorageError where error.code == .corrupt
      { return nil }
    }
  }

  /// The keys of the items that have these attributes, whether or not the items can be read.
  func keys(
    with attributes: [String: String], by deadline: Deadline
  ) async throws -> Set<CredentialKey> {
    Set(
      try await found(with: attributes, by: deadline) { _, attributes in Item.key(of: attributes) })
  }

  /// The credential of a key; `nil` where there is none.
  func credential(of key: CredentialKey, by deadline: Deadline) async throws -> Credential? {
    for _ in 0..<Self.rounds {
      let paths = try await search(Item.attributes(of: key), by: deadline)
      // Values and attributes are asked for together: a load takes two round trips.
      let values = paths.isEmpty ? nil : try startGettingSecrets(of: paths, by: deadline)
      let (items, areWhole) = try await read(paths, by: deadline) { path, attributes in
        try await item(of: key, at: path, attributes, by: deadline)
      }
      let newest = items.max { $1.isNewer(than: $0) }
      if let newest, let value = try await secret(of: newest.path, in: values) {
        return Credential(
          summary: newest.summary, secret: try ItemValue.decode(value, of: newest.path))
      }
      if newest == nil, areWhole { return nil }
    }
    throw StorageError.changingKeyring
  }

  /// An item; `nil` when it is gone or somebody else's.
  func item(at path: ObjectPath, by deadline: Deadline) async throws -> Item? {
    try await read([path], by: deadline) { path, attributes in
      try await item(at: path, attributes, by: deadline)
    }.values.first
  }

  /// The value of an item as it is stored; `nil` when the item is gone.
  func value(of item: ObjectPath, by deadline: Deadline) async throws -> Secret? {
    try await secret(of: item, in: startGettingSecrets(of: [item], by: deadline))
  }

  private func secret(
    of item: ObjectPath, in reply: Pending<Variant>?
  ) async throws(BusError) -> Secret? {
    let values = try await reply?.value().children[0].children ?? []
    for entry in values {
      let parts = entry.children
      if parts[0].objectPath == item { return try session.decode(parts[1]) }
    }
    return nil
  }

  /// An item with these attributes; `nil` when it is not one of the key, or of any, and so somebody
  /// else's.
  private func item(
    of key: CredentialKey? = nil, at path: ObjectPath, _ attributes: [String: String],
    by deadline: Deadline
  ) async throws -> Item? {
    guard let found = Item.key(of: attributes), key == nil || found == key else { return nil }
    return try await Item(of: found, at: path, attributes) {
      try await properties(of: path, by: deadline)
    }
  }

  /// What is made of the items that have these attributes; throws `locked` where one is in a collection
  /// that is, unless another function is told of it.
  ///
  /// One that went away meanwhile may have been replaced by another: then it is looked for again.
  func found<Value>(
    with attributes: [String: String], by deadline: Deadline,
    whenLocked: ([ObjectPath]) throws(BusError) -> Void = { _ throws(BusError) in throw .locked },
    _ value: (ObjectPath, [String: String]) async throws -> Value?
  ) async throws -> [Value] {
    var values: [Value] = []
    var seen: Set<ObjectPath> = []
    for _ in 0..<Self.rounds {
      let new = try await search(attributes, by: deadline, whenLocked: whenLocked)
        .filter { seen.insert($0).inserted }
      let read = try await read(new, by: deadline, value)
      values += read.values
      if read.areWhole { return values }
    }
    throw StorageError.changingKeyring
  }

  /// What is made of items by their attributes; those that are gone are left out, of which there were
  /// none when they are whole.
  private func read<Value>(
    _ paths: [ObjectPath], by deadline: Deadline,
    _ value: (ObjectPath, [String: String]) async throws -> Value?
  ) async throws -> (values: [Value], areWhole: Bool) {
    var values: [Value] = []
    var areWhole = true
    for start in stride(from: 0, to: paths.count, by: Self.batch) {
      let batch = paths[start..<min(start + Self.batch, paths.count)]
      let replies = try batch.map { try startGettingAttributes(of: $0, by: deadline) }
      for (path, reply) in zip(batch, replies) {
        do {
          let attributes = try await reply.value().children[0].unboxed
          guard attributes.isOfType("a{ss}") else { throw BusError.malformed }
          if let value = try await value(path, attributes.strings) { values.append(value) }
        } catch BusError.noSuchObject { areWhole = false }
      }
    }
    return (values, areWhole)
  }
}
