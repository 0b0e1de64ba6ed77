internal import KistCore

/// The items of the collection `session`, which are in memory only and are never saved.
struct MemoryItems {
  struct Item {
    var label: String
    var attributes: Attributes
    var secret: Secret
    var contentType: String
    let createdAt: Timestamp
    var modifiedAt: Timestamp

    var size: Int {
      secret.count + label.utf8.count + contentType.utf8.count + attributes.size
    }
  }

  /// The items by the element of their paths.
  private var items: [String: Item] = [:]
  /// The elements, the newest item last.
  private var order: [String] = []
  private var added = 0
  private var size = 0

  /// The elements of the paths of all items, the newest first.
  var identifiers: [String] { order.reversed() }

  subscript(identifier: String) -> Item? { items[identifier] }

  func find(_ attributes: Attributes, exactly: Bool = false) -> [String] {
    identifiers.filter { identifier in
      let item = items[identifier]!
      return attributes.areContained(in: item.attributes)
        && (!exactly || attributes.count == item.attributes.count)
    }
  }

  mutating func add(_ item: Item) throws(ServiceError) -> String {
    added += 1
    let identifier = "m\(added)"
    try set(item, at: identifier)
    return identifier
  }

  /// Replaces an item, which becomes the newest one.
  mutating func set(_ item: Item, at identifier: String) throws(ServiceError) {
    let newSize = size - (items[identifier]?.size ?? 0) + item.size
    guard newSize <= ServiceLimits.memoryBytes,
      items[identifier] != nil || items.count < ServiceLimits.memoryItems
    else {
      throw .overLimit(
        "the collection in memory may have \(ServiceLimits.memoryItems) items of together "
          + "\(ServiceLimits.memoryBytes) bytes; nothing was changed")
    }
    size = newSize
    items[identifier] = item
    order.removeAll { $0 == identifier }
    order.append(identifier)
  }

  mutating func remove(_ identifier: String) throws(ServiceError) {
    guard let item = items.removeValue(forKey: identifier) else { throw .noSuchObject }
    size -= item.size
    order.removeAll { $0 == identifier }
  }
}

extension Attributes {
  /// The bytes of the names and values.
  var size: Int { sorted.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}
