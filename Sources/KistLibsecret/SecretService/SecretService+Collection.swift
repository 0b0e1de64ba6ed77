internal import KistCore

/// A collection.
extension SecretService {
  /// The default collection; throws where there is none.
  func requiredCollection(by deadline: Deadline) async throws -> ObjectPath {
    guard let collection = try await defaultCollection(by: deadline) else {
      throw StorageError.noDefaultKeyring
    }
    return collection
  }

  /// The default collection; throws unless it is there and open, for only then is what is not found
  /// not there.
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

  /// Makes an item beside those that are there, in a collection that is open.
  ///
  /// KeePassXC answers every such call with a prompt, which creates the item without asking anybody.
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
    // The bookkeeping is among the attributes: no other item has them all.
    guard let item = try await search(attributes, by: deadline).first else { throw .malformed }
    return item
  }
}
