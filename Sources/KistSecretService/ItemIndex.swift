internal import KistCore

/// The items of kistd, to be found by their attributes.
///
/// It keeps keyed hashes of attributes, and the names of credentials encrypted. Items are added at
/// the end and only marked as removed, so each chain of an attribute leads from the newest item to
/// the oldest.
struct ItemIndex {
  /// A place in the index, until it changes.
  typealias Place = Int

  private struct Item {
    let identifier: UInt64
    /// The hash of the revision.
    let revision: UInt64
    /// The number of the item among all that were ever added, for its encrypted key.
    let number: UInt64
    let firstNode: UInt32
    let keyStart: UInt32
    let keyCount: UInt16
    let nodeCount: UInt16
    let collection: UInt16
    var isRemoved = false
  }

  private struct Node {
    let hash: UInt64
    let item: UInt32
    /// The node before this one with the same hash; `.max` for none.
    let next: UInt32
  }

  private static let maximumCollections = 1024

  private let hashing: Hashing
  private var items: [Item] = []
  private var nodes: [Node] = []
  private var keys: [UInt8] = []
  private var heads: [UInt64: UInt32] = [:]
  private var places: [UInt64: UInt32] = [:]
  private var collections: [String] = []
  private var added: UInt64

  /// - Parameter old: The index that this one replaces. It continues the numbers, because each
  ///   number encrypts one key only.
  init(hashing: Hashing, after old: ItemIndex? = nil) {
    self.hashing = hashing
    added = old?.added ?? 0
  }

  /// The number of items.
  var count: Int { places.count }

  // MARK: - Changing

  /// Adds an item as the newest one, in place of the one with the same key.
  mutating func insert(_ summary: CredentialSummary) {
    remove(summary.key)
    if items.count > 2 * count + 1024 { compact() }
    var round = 0
    var identifier: UInt64
    repeat {
      identifier = hashing.identifier(of: summary, round: round)
      round += 1
    } while places[identifier] != nil
    let visible = ItemAttributes.visible(of: summary)
    let hashes =
      [hashing.hash(summary.key)] + visible.sorted.map { hashing.hash(attribute: $0, $1) }
    added += 1
    append(
      identifier, revision: hashing.hash(summary.revision), number: added,
      key: hashing.sealed(summary.key, number: added), hashes: hashes,
      collection: number(of: summary.collection))
  }

  /// Removes the item of a key, and returns where its path was.
  @discardableResult
  mutating func remove(_ key: CredentialKey) -> ObjectPath? {
    guard let place = place(of: key) else { return nil }
    items[place].isRemoved = true
    places[items[place].identifier] = nil
    return path(at: place)
  }

  private mutating func append(
    _ identifier: UInt64, revision: UInt64, number: UInt64, key: ArraySlice<UInt8>,
    hashes: [UInt64], collection: UInt16
  ) {
    let place = UInt32(items.count)
    items.append(
      Item(
        identifier: identifier, revision: revision, number: number, firstNode: UInt32(nodes.count),
        keyStart: UInt32(keys.count), keyCount: UInt16(key.count), nodeCount: UInt16(hashes.count),
        collection: collection))
    keys += key
    for hash in hashes {
      let node = UInt32(nodes.count)
      nodes.append(
        Node(hash: hash, item: place, next: heads.updateValue(node, forKey: hash) ?? .max))
    }
    places[identifier] = place
  }

  /// Copies the items without those that were removed.
  private mutating func compact() {
    let old = self
    (items, nodes, keys, heads, places) = ([], [], [], [:], [:])
    for item in old.items where !item.isRemoved {
      let end = Int(item.firstNode) + Int(item.nodeCount)
      append(
        item.identifier, revision: item.revision, number: item.number, key: old.sealedKey(of: item),
        hashes: old.nodes[Int(item.firstNode)..<end].map(\.hash), collection: item.collection)
    }
  }

  /// Returns the number of a collection; clients of kistd can name more of them than there may be.
  private mutating func number(of collection: String) -> UInt16 {
    if let number = collections.firstIndex(of: collection) { return UInt16(number) }
    guard collections.count < Self.maximumCollections || collection == Collection.login else {
      return number(of: Collection.login)
    }
    collections.append(collection)
    return UInt16(collections.count - 1)
  }

  // MARK: - Reading

  /// Returns the places of the items that have all these attributes, the newest first.
  ///
  /// - Parameters:
  ///   - exactly: Whether the items must have no other attributes.
  ///   - collection: The collection to search; `nil` for all.
  func find(
    _ attributes: [String: String], exactly: Bool = false, in collection: String? = nil
  ) -> [Place] {
    let number: UInt16?
    if let collection {
      guard let found = collections.firstIndex(of: collection) else { return [] }
      number = UInt16(found)
    } else {
      number = nil
    }
    let hashes = attributes.map { hashing.hash(attribute: $0, $1) }
    return candidates(hashes).filter { place in
      let item = items[place]
      return !item.isRemoved && (number.map { $0 == item.collection } ?? true)
        && (!exactly || item.nodeCount == hashes.count + 1)
        && hashes.allSatisfy { hash in has(hash, item) }
    }
  }

  /// Returns the items in the shortest of the chains.
  ///
  /// It walks all chains in turns, until the first one ends.
  private func candidates(_ hashes: [UInt64]) -> [Place] {
    guard !hashes.isEmpty else { return Array(items.indices.reversed()) }
    var chains: [(next: UInt32, found: [Place])] = []
    for hash in hashes {
      guard let head = heads[hash] else { return [] }
      chains.append((head, []))
    }
    while true {
      for chain in chains.indices {
        let next = chains[chain].next
        if next == .max { return chains[chain].found }
        let node = nodes[Int(next)]
        chains[chain].found.append(Int(node.item))
        chains[chain].next = node.next
      }
    }
  }

  private func has(_ hash: UInt64, _ item: Item) -> Bool {
    let first = Int(item.firstNode)
    return nodes[first..<first + Int(item.nodeCount)].contains { $0.hash == hash }
  }

  /// Returns the place of the item of a key.
  func place(of key: CredentialKey) -> Place? {
    candidates([hashing.hash(key)]).first { !items[$0].isRemoved }
  }

  /// Returns the place of the item with this element of a path.
  func place(ofItem item: String, in collection: String) -> Place? {
    guard item.utf8.first == UInt8(ascii: "i"), item.utf8.count == 17,
      let identifier = UInt64(item.dropFirst(), radix: 16), let place = places[identifier],
      collections[Int(items[Int(place)].collection)] == collection,
      ObjectPath.element(identifier) == item
    else { return nil }
    return Int(place)
  }

  func path(at place: Place) -> ObjectPath {
    let item = items[place]
    return .item(
      collection: collections[Int(item.collection)], item: ObjectPath.element(item.identifier))
  }

  func key(at place: Place) -> CredentialKey {
    hashing.opened(sealedKey(of: items[place]), number: items[place].number)
  }

  /// Returns whether the item of a key is at this revision; `nil` means that there is no item.
  func isCurrent(_ key: CredentialKey, _ revision: Revision?) -> Bool {
    guard let place = place(of: key) else { return revision == nil }
    return revision.map { hashing.hash($0) == items[place].revision } ?? false
  }

  /// Returns a number that changes whenever the item of a key does.
  func version(of key: CredentialKey) -> UInt64 { place(of: key).map { items[$0].number } ?? 0 }

  /// The paths of all items of a collection, the newest first.
  func paths(in collection: String) -> [ObjectPath] {
    find([:], in: collection).map { path(at: $0) }
  }

  private func sealedKey(of item: Item) -> ArraySlice<UInt8> {
    keys[Int(item.keyStart)..<Int(item.keyStart) + Int(item.keyCount)]
  }
}

extension ObjectPath {
  /// Returns the element of an item's path.
  static func element(_ identifier: UInt64) -> String { "i" + identifier.inHexadecimal }
}
