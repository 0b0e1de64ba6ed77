/// The names and values of a credential's attributes, compared byte by byte and sorted by name.
public struct Attributes: Sendable, ExpressibleByDictionaryLiteral {
  /// Names and values, sorted by name.
  public private(set) var sorted: [(name: String, value: String)] = []

  /// Makes an empty value.
  public init() {}

  /// Makes attributes from a dictionary.
  public init(_ values: [String: String]) {
    sorted = values.map { (name: $0, value: $1) }.sorted { precedes($0.name, $1.name) }
  }

  /// Makes attributes from pairs in any order; the last value of a repeated name is used.
  package init(lastOf pairs: [(name: String, value: String)]) {
    let order = pairs.indices.sorted { left, right in
      precedes(pairs[left].name, pairs[right].name)
        || left < right && pairs[left].name.hasSameBytes(as: pairs[right].name)
    }
    for place in order {
      if let last = sorted.last, last.name.hasSameBytes(as: pairs[place].name) {
        sorted.removeLast()
      }
      sorted.append(pairs[place])
    }
  }

  /// Makes attributes from a literal; the last value of a repeated name is used.
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { self[name] = value }
  }

  /// The value of a name.
  public subscript(name: String) -> String? {
    get { sorted.first { $0.name.hasSameBytes(as: name) }?.value }
    set {
      // Searches from the end, because attributes nearly always arrive in order.
      let place = sorted.lastIndex { !precedes(name, $0.name) }
      if let place, sorted[place].name.hasSameBytes(as: name) {
        if let newValue { sorted[place].value = newValue } else { sorted.remove(at: place) }
      } else if let newValue {
        sorted.insert((name: name, value: newValue), at: place.map { $0 + 1 } ?? 0)
      }
    }
  }

  /// The number of attributes.
  public var count: Int { sorted.count }
  /// Whether there are no attributes.
  public var isEmpty: Bool { sorted.isEmpty }

  /// Whether a name is reserved for the Secret Service adapter.
  ///
  /// The adapter keeps what it needs besides an item's own attributes under such names: `kist:item`, for
  /// example. No program on the bus sees them.
  package static func isReserved(_ name: String) -> Bool { name.utf8.starts(with: "kist:".utf8) }

  /// Returns these attributes with others, whose values replace those of the same name.
  package func merging(_ others: Attributes) -> Attributes {
    var merged = self
    for (name, value) in others.sorted { merged[name] = value }
    return merged
  }

  /// Returns whether all of these are among the others, with the same bytes.
  public func areContained(in others: Attributes) -> Bool {
    sorted.allSatisfy { name, value in others[name]?.hasSameBytes(as: value) ?? false }
  }
}

extension Attributes: Equatable {
  /// Compares names and values byte by byte.
  public static func == (left: Self, right: Self) -> Bool {
    left.count == right.count && left.areContained(in: right)
  }
}

private func precedes(_ left: String, _ right: String) -> Bool {
  left.utf8.lexicographicallyPrecedes(right.utf8)
}
