internal import KistCore

extension SecretService {
  /// The number of calls in progress at a time; the default limit of a bus is 128.
  private static let batch = 64
  /// How often to search again for items that went away meanwhile.
  private static let rounds = 16

  /// Returns the items of a key, the newest first.
  func items(of key: CredentialKey, by deadline: Deadline) async throws -> [Item] {
    try await found(with: Item.attributes(of: key), by: deadline) { path, attributes in
      try await item(of: key, at: path, attributes, by: deadline)
    }.sorted { $0.isNewer(than: $1) }
  }

  func items(with attributes: [String: String], by deadline: Deadline) async throws -> [Item] {
    try await found(with: attributes, by: deadline) { path, attributes in
      try await item(at: path, attributes, by: deadline)
    }
  }

  /// Returns the items that have these attributes and can be read.
  func wholeItems(
    with attributes: [String: String], by deadline: Deadline
  ) async throws -> [Item] {
    try await found(with: attributes, by: deadline) { path, attributes in
      do { return try await item(at: path, attributes, by: deadline) } catch let error
        as StorageError where error.code == .corrupt
      { return nil }
    }
  }

  /// Returns the keys of the items with these attributes, even if the items cannot be read.
  func keys(
    with attributes: [String: String], by deadline: Deadline
  ) async throws -> Set<CredentialKey> {
    Set(
      try await found(with: attributes, by: deadline) { _, attributes in Item.key(of: attributes) })
  }

  /// Returns the credential of a key; `nil` if there is none.
  func credential(of key: CredentialKey, by deadline: Deadline) async throws -> Credential? {
    for _ in 0..<Self.rounds {
      let paths = try await search(Item.attributes(of: key), by: deadline)
      // Values and attributes are requested together, so that a load takes two round trips.
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

  /// Returns an item; `nil` if it is gone or is another program's.
  func item(at path: ObjectPath, by deadline: Deadline) async throws -> Item? {
    try await read([path], by: deadline) { path, attributes in
      try await item(at: path, attributes, by: deadline)
    }.values.first
  }

  /// Returns the value of an item as stored; `nil` if the item is gone.
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

  /// Returns an item with these attributes; `nil` if it is another program's, or has another key.
  private func item(
    of key: CredentialKey? = nil, at path: ObjectPath, _ attributes: [String: String],
    by deadline: Deadline
  ) async throws -> Item? {
    guard let found = Item.key(of: attributes), key == nil || found == key else { return nil }
    return try await Item(of: found, at: path, attributes) {
      try await properties(of: path, by: deadline)
    }
  }

  /// Returns the values that a function makes of the items with these attributes.
  ///
  /// If an item is in a locked collection, it calls `whenLocked`, which throws `locked` by default.
  /// An item that went away meanwhile may have been replaced, so it searches again.
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

  /// Returns the values that a function makes of items; leaves out items that are gone.
  ///
  /// `areWhole` is `false` if any item is gone.
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

extension SecretService {
  /// Returns the default collection; throws if there is none.
  func requiredCollection(by deadline: Deadline) async throws -> ObjectPath {
    guard let collection = try await defaultCollection(by: deadline) else {
      throw StorageError.noDefaultKeyring
    }
    return collection
  }

  /// Returns the default collection; throws unless it exists and is open.
  ///
  /// Only in an open collection does an empty search mean that there is no item.
  func openCollection(by deadline: Deadline) async throws -> ObjectPath {
    let collection = try await requiredCollection(by: deadline)
    guard try await !isLocked(collection, by: deadline) else { throw BusError.locked }
    return collection
  }

  func isLocked(_ collection: ObjectPath, by deadline: Deadline) async throws(BusError) -> Bool {
    let value = try await ask(
      .getProperty, of: collection,
      .tuple(.string("org.freedesktop.Secret.Collection"), .string("Locked")), by: deadline
    ).children[0].unboxed
    guard value.isOfType("b") else { throw .malformed }
    return value.bool
  }

  /// Makes an item beside the existing ones, in an open collection.
  ///
  /// KeePassXC answers every such call with a prompt that creates the item without asking the user.
  func createItem(
    in collection: ObjectPath, label: String, attributes: [String: String], value: Secret,
    by deadline: Deadline
  ) async throws(BusError) -> ObjectPath {
    let properties = Variant.properties([
      "org.freedesktop.Secret.Item.Label": .string(label),
      "org.freedesktop.Secret.Item.Attributes": .strings(attributes),
    ])
    let reply = try await ask(
      .createItem, of: collection, .tuple(properties, session.encode(value), .bool(false)),
      by: deadline
    ).children
    guard let prompt = reply[1].prompt else { return reply[0].objectPath }
    try await answer(prompt, by: deadline)
    // The attributes include the bookkeeping, so no other item has them all.
    guard let item = try await search(attributes, by: deadline).first else { throw .malformed }
    return item
  }
}
