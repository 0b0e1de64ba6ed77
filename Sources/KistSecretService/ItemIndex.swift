internal import KistCore

/// The items of kistd, to be found by their attributes.
///
/// It keeps keyed hashes of attributes, and the names of credentials encrypted. Each attribute of
/// an item is a node. Items are added at the end and only marked as removed, so each chain of nodes
/// with one hash leads from the newest item to the oldest.
struct ItemIndex {
  /// A place in the index, until it changes.
  typealias Place = Int

  private struct Item {
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

    var nodes: Range<Int> { Int(firstNode)..<Int(firstNode) + Int(nodeCount) }
  }

  private static let maximumCollections = 1024

  private let hashing: Hashing
  private let numbers: ItemNumbers
  private var items: [Item] = []
  /// The identifier of each item.
  private var identifiers: [UInt64] = []
  private var places = HashTable()
  private var keys: [UInt8] = []
  /// The hash of each node.
  private var hashes: [UInt64] = []
  /// The node before each node with the same hash; `.max` for none.
  private var previous: [UInt32] = []
  /// The last node with each hash.
  private var heads = HashTable()
  private var collections: [String] = []

  init(hashing: Hashing, numbers: ItemNumbers) {
    self.hashing = hashing
    self.numbers = numbers
  }

  /// The number of items.
  private(set) var count = 0

  // MARK: - Changing

  /// Adds an item as the newest one, in place of the one with the same key; returns its identifier.
  @discardableResult
  mutating func insert(_ summary: CredentialSummary) -> UInt64 {
    remove(summary.key)
    if items.count > 2 * count + 1024 { keep(items.indices) }
    var round = 0
    var identifier: UInt64
    repeat {
      identifier = hashing.identifier(of: summary, round: round)
      round += 1
    } while place(of: identifier) != nil
    let visible = ItemAttributes.visible(of: summary)
    let hashes =
      [hashing.hash(summary.key)] + visible.sorted.map { hashing.hash(attribute: $0, $1) }
    let number = numbers.next()
    append(
      identifier, revision: hashing.hash(summary.revision), number: number,
      key: hashing.sealed(summary.key, number: number), hashes: hashes,
      collection: self.number(of: summary.collection))
    return identifier
  }

  /// Puts the items in this order, the oldest first, and frees memory that they do not need.
  ///
  /// Items that the order does not name are left out.
  mutating func sort(by identifiers: [UInt64]) {
    keep(identifiers.compactMap(place(of:)))
  }

  /// Removes the item of a key, and returns where its path was.
  @discardableResult
  mutating func remove(_ key: CredentialKey) -> ObjectPath? {
    guard let place = place(of: key) else { return nil }
    items[place].isRemoved = true
    count -= 1
    return path(at: place)
  }

  private mutating func append(
    _ identifier: UInt64, revision: UInt64, number: UInt64, key: some Swift.Collection<UInt8>,
    hashes: some Swift.Collection<UInt64>, collection: UInt16
  ) {
    let place = UInt32(items.count)
    items.append(
      Item(
        revision: revision, number: number, firstNode: UInt32(self.hashes.count),
        keyStart: UInt32(keys.count), keyCount: UInt16(key.count), nodeCount: UInt16(hashes.count),
        collection: collection))
    identifiers.append(identifier)
    places.set(place, in: identifiers)
    keys += key
    for hash in hashes {
      let node = UInt32(self.hashes.count)
      self.hashes.append(hash)
      previous.append(heads.set(node, in: self.hashes) ?? .max)
    }
    count += 1
  }

  /// Copies the items at these places, without those that were removed.
  private mutating func keep(_ kept: some Sequence<Int>) {
    var old = self
    self = ItemIndex(hashing: hashing, numbers: numbers)
    collections = old.collections
    items.reserveCapacity(old.count)
    identifiers.reserveCapacity(old.count)
    keys.reserveCapacity(old.keys.count)
    hashes.reserveCapacity(old.hashes.count)
    previous.reserveCapacity(old.hashes.count)
    for place in kept where !old.items[place].isRemoved {
      let item = old.items[place]
      old.items[place].isRemoved = true
      append(
        old.identifiers[place], revision: item.revision, number: item.number,
        key: old.sealedKey(of: item), hashes: old.hashes[item.nodes], collection: item.collection)
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
    _ attributes: Attributes, exactly: Bool = false, in collection: String? = nil
  ) -> [Place] {
    let number: UInt16?
    if let collection {
      guard let found = collections.firstIndex(of: collection) else { return [] }
      number = UInt16(found)
    } else {
      number = nil
    }
    let searched = attributes.sorted.map { hashing.hash(attribute: $0, $1) }
    return candidates(searched).filter { place in
      let item = items[place]
      return !item.isRemoved && (number.map { $0 == item.collection } ?? true)
        && (!exactly || item.nodeCount == searched.count + 1)
        && searched.allSatisfy(hashes[item.nodes].contains)
    }
  }

  /// Returns the items in the shortest of the chains.
  private func candidates(_ searched: [UInt64]) -> [Place] {
    guard !searched.isEmpty else { return Array(items.indices.reversed()) }
    var first: [UInt32] = []
    for hash in searched {
      guard let head = heads.number(with: hash, in: hashes) else { return [] }
      first.append(head)
    }
    var node = first[shortestChain(first)]
    var found: [Place] = []
    while node != .max {
      found.append(place(ofNode: node))
      node = previous[Int(node)]
    }
    return found
  }

  /// Walks the chains that begin at these nodes in turns, and returns which one ends first.
  private func shortestChain(_ first: [UInt32]) -> Int {
    var nodes = first
    while true {
      for chain in nodes.indices {
        nodes[chain] = previous[Int(nodes[chain])]
        if nodes[chain] == .max { return chain }
      }
    }
  }

  /// Returns the place of the item that a node belongs to: the last one that does not begin after it.
  private func place(ofNode node: UInt32) -> Place {
    var (low, high) = (0, items.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if items[middle].firstNode <= node { low = middle } else { high = middle }
    }
    return low
  }

  private func place(of identifier: UInt64) -> Place? {
    places.number(with: identifier, in: identifiers).map(Int.init)
      .flatMap { items[$0].isRemoved ? nil : $0 }
  }

  /// Returns the place of the item of a key.
  func place(of key: CredentialKey) -> Place? {
    candidates([hashing.hash(key)]).first { !items[$0].isRemoved }
  }

  /// Returns the place of the item with this element of a path.
  func place(ofItem item: String, in collection: String) -> Place? {
    guard item.utf8.first == UInt8(ascii: "i"), item.utf8.count == 17,
      let identifier = UInt64(item.dropFirst(), radix: 16), let place = place(of: identifier),
      collections[Int(items[place].collection)] == collection,
      ObjectPath.element(identifier) == item
    else { return nil }
    return place
  }

  func path(at place: Place) -> ObjectPath {
    .item(
      collection: collections[Int(items[place].collection)],
      item: ObjectPath.element(identifiers[place]))
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

/// Numbers the items of all indexes with one key, because each number encrypts one item only.
final class ItemNumbers {
  private var last: UInt64 = 0

  func next() -> UInt64 {
    last += 1
    return last
  }
}

extension ObjectPath {
  /// Returns the element of an item's path.
  static func element(_ identifier: UInt64) -> String { "i" + identifier.inHexadecimal }
}
