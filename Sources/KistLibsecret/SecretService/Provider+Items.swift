internal import KistCore

extension Provider {
  /// The number of calls in progress at a time; the default limit of a bus is 128.
  private static let batch = 64
  /// How often to search again for items that went away meanwhile.
  private static let rounds = 16

  /// Returns the items of a key, the newest first.
  func items(of key: CredentialKey) async throws -> [Item] {
    try await found(with: Item.attributes(of: key)) { try await item(of: key, at: $0, $1) }
      .sorted { $0.isNewer(than: $1) }
  }

  /// Returns the credentials of a query, with the newest of several items of a key.
  func summaries(of query: CredentialQuery) async throws -> [CredentialSummary] {
    let items = try await found(with: Item.attributes(of: query)) { try await item(at: $0, $1) }
    if items.isEmpty { _ = try await openCollection() }
    return Dictionary(items.map { ($0.summary.key, $0) }) { $0.isNewer(than: $1) ? $0 : $1 }
      .values.map(\.summary)
  }

  /// Returns all items that can be read.
  func wholeItems() async throws -> [Item] {
    try await found(with: Item.attributes(of: CredentialQuery())) { path, attributes in
      do { return try await item(at: path, attributes) } catch let error
        as StorageError where error.code == .corrupt
      { return nil }
    }
  }

  /// Returns the keys of all items, even if the items cannot be read.
  func keys() async throws -> Set<CredentialKey> {
    Set(try await found(with: Item.attributes(of: CredentialQuery())) { Item.key(of: $1) })
  }

  /// Returns the credential of a key; `nil` if there is none.
  func credential(of key: CredentialKey) async throws -> Credential? {
    for _ in 0..<Self.rounds {
      let paths = try await search(Item.attributes(of: key))
      // Values and attributes are requested together, so that a load takes two round trips.
      let values = paths.isEmpty ? nil : try startGettingSecrets(of: paths)
      let (items, areWhole) = try await read(paths) { try await item(of: key, at: $0, $1) }
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
  func item(at path: ObjectPath) async throws -> Item? {
    try await read([path]) { try await item(at: $0, $1) }.values.first
  }

  /// Returns the value of an item as stored; `nil` if the item is gone.
  func value(of item: ObjectPath) async throws -> Secret? {
    try await secret(of: item, in: startGettingSecrets(of: [item]))
  }

  /// Returns an item of another program with all that it has.
  func foreignItem(
    at path: ObjectPath, _ attributes: [String: String]
  ) async throws -> KeyringItem {
    let label = try await label(of: path)
    let encoded = try await encodedSecret(of: path, in: startGettingSecrets(of: [path]))
    return KeyringItem(
      attributes: attributes, label: label,
      value: try encoded.map { value throws(BusError) in try service.session.decode(value) },
      contentType: encoded?.children[3].string ?? "text/plain")
  }

  /// Returns the label of an item; empty if it has none.
  func label(of path: ObjectPath) async throws -> String {
    try await properties(of: path).property("Label", type: "s")?.string ?? ""
  }

  private func secret(
    of item: ObjectPath, in reply: Pending<Variant>?
  ) async throws(BusError) -> Secret? {
    guard let value = try await encodedSecret(of: item, in: reply) else { return nil }
    return try service.session.decode(value)
  }

  /// Returns the secret of an item as it is on the bus, `(oayays)`.
  private func encodedSecret(
    of item: ObjectPath, in reply: Pending<Variant>?
  ) async throws(BusError) -> Variant? {
    let values = try await reply?.value().children[0].children.map(\.children) ?? []
    return values.first { $0[0].objectPath == item }?[1]
  }

  /// Returns an item with these attributes; `nil` if it is another program's, or has another key.
  private func item(
    of key: CredentialKey? = nil, at path: ObjectPath, _ attributes: [String: String]
  ) async throws -> Item? {
    guard let found = Item.key(of: attributes), key == nil || found == key else { return nil }
    return try await Item(of: found, at: path, attributes) { try await properties(of: path) }
  }

  /// Returns the values that a function makes of the items with these attributes.
  ///
  /// If an item is in a locked collection, it calls `whenLocked`, which throws `locked` by default.
  /// An item that went away meanwhile may have been replaced, so it searches again.
  func found<Value>(
    with attributes: [String: String],
    whenLocked: ([ObjectPath]) throws(BusError) -> Void = { _ throws(BusError) in throw .locked },
    _ value: (ObjectPath, [String: String]) async throws -> Value?
  ) async throws -> [Value] {
    var values: [Value] = []
    var seen: Set<ObjectPath> = []
    for _ in 0..<Self.rounds {
      let new = try await search(attributes, whenLocked: whenLocked)
        .filter { seen.insert($0).inserted }
      let read = try await read(new, value)
      values += read.values
      if read.areWhole { return values }
    }
    throw StorageError.changingKeyring
  }

  /// Returns the values that a function makes of items; `areWhole` is `false` if any is gone.
  private func read<Value>(
    _ paths: [ObjectPath], _ value: (ObjectPath, [String: String]) async throws -> Value?
  ) async throws -> (values: [Value], areWhole: Bool) {
    var values: [Value] = []
    var areWhole = true
    for start in stride(from: 0, to: paths.count, by: Self.batch) {
      let batch = paths[start..<min(start + Self.batch, paths.count)]
      let replies = try batch.map { try startGettingAttributes(of: $0) }
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

extension Provider {
  /// Returns the default collection; throws if there is none.
  func requiredCollection() async throws -> ObjectPath {
    if let collection = try await defaultCollection() { return collection }
    throw StorageError(
      .unavailable, "the keyring's provider has no default keyring",
      hint: "make one, with seahorse or in the settings of the provider, and make it the default")
  }

  /// Returns the default collection; throws unless it exists and is open.
  ///
  /// Only in an open collection does an empty search mean that there is no item.
  func openCollection() async throws -> ObjectPath {
    let collection = try await requiredCollection()
    guard try await !isLocked(collection) else { throw BusError.locked }
    return collection
  }

  func isLocked(_ collection: ObjectPath) async throws(BusError) -> Bool {
    let value = try await ask(
      .getProperty, of: collection, .string(Method.collectionInterface), .string("Locked")
    )[0].unboxed
    guard value.isOfType("b") else { throw .malformed }
    return value.bool
  }

  /// Makes an item beside the existing ones, in an open collection.
  ///
  /// KeePassXC answers every such call with a prompt that creates the item without asking the user.
  func createItem(
    in collection: ObjectPath, label: String, attributes: [String: String], value: Secret
  ) async throws(BusError) -> ObjectPath {
    let properties = Variant.properties([
      "org.freedesktop.Secret.Item.Label": .string(label),
      "org.freedesktop.Secret.Item.Attributes": .strings(attributes),
    ])
    let reply = try await ask(
      .createItem, of: collection, properties, service.session.encode(value), .bool(false))
    guard let prompt = reply[1].existingObject else { return reply[0].objectPath }
    try await answer(prompt)
    // The attributes include the bookkeeping, so no other item has them all.
    guard let item = try await search(attributes).first else { throw .malformed }
    return item
  }
}
