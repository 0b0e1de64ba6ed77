internal import KistCore

/// Requests about a collection.
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
