/// Names and values beside a credential, compared byte by byte and kept in the order of the names.
public struct Attributes: Sendable, ExpressibleByDictionaryLiteral {
  private var values: [String: String]

  /// Makes attributes from a dictionary.
  public init(_ values: [String: String] = [:]) { self.values = values }

  /// Makes attributes from a literal; of a repeated name the last value stands.
  public init(dictionaryLiteral elements: (String, String)...) {
    values = Dictionary(elements) { $1 }
  }

  /// The value of a name.
  public subscript(name: String) -> String? {
    get { values[name] }
    set { values[name] = newValue }
  }

  /// How many there are.
  public var count: Int { values.count }
  /// Whether there are none.
  public var isEmpty: Bool { values.isEmpty }
  /// Names and values, sorted by name.
  public var sorted: [(name: String, value: String)] {
    values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      .map { (name: $0.key, value: $0.value) }
  }

  /// Whether all of these are among the others, with the same bytes.
  public func areContained(in others: Attributes) -> Bool {
    values.allSatisfy { name, value in others[name]?.hasSameBytes(as: value) ?? false }
  }
}

extension Attributes: Equatable {
  /// Compares names and values byte by byte.
  public static func == (left: Self, right: Self) -> Bool {
    left.count == right.count && left.areContained(in: right)
  }
}
