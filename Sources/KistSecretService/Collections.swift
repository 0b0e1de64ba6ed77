internal import KistCore

/// A collection of items.
struct Collection: Equatable {
  /// The default collection, which has every credential that names no other one.
  static let login = "login"
  static let loginLabel = "Login"
  /// The collection in memory.
  static let session = "session"

  let identifier: String
  var label: String
  var createdAt: Timestamp
  var modifiedAt: Timestamp
  /// Whether the alias `default` leads to it.
  var isDefault = false

  var path: String { ObjectPath.collection(identifier).path }

  /// The key of the credential that records the collection.
  static func recordKey(_ identifier: String) -> CredentialKey {
    CredentialKey(service: recordService, account: identifier)
  }

  private static let recordService = "kist:collection"
  private static let isDefaultName = "kist:default"

  /// Returns the credential that records the collection, in place of an old one.
  ///
  /// What another client of kistd added to the old one stays.
  func record(over old: Credential?) -> NewCredential {
    var attributes = old?.summary.attributes ?? [:]
    attributes[ItemAttributes.record] = "collection"
    attributes[Self.isDefaultName] = isDefault ? "1" : nil
    return NewCredential(
      key: Self.recordKey(identifier), secret: old?.secret ?? Secret(copying: []),
      label: label.asLabel, attributes: attributes, expiresAt: old?.summary.expiresAt)
  }

  /// Makes the collection that a credential records; `nil` if its key is not that of a record.
  ///
  /// Any client of kistd can save another credential under that key. The collection remains,
  /// because its items do.
  init?(recordedBy summary: CredentialSummary) {
    guard summary.key == Self.recordKey(summary.key.account), summary.key.account.isCollection
    else { return nil }
    self.init(
      identifier: summary.key.account, label: summary.label ?? "", createdAt: summary.createdAt,
      modifiedAt: summary.modifiedAt)
    isDefault = summary.attributes[Self.isDefaultName] != nil
  }

  init(identifier: String, label: String, createdAt: Timestamp, modifiedAt: Timestamp) {
    self.identifier = identifier
    self.label = label
    self.createdAt = createdAt
    self.modifiedAt = modifiedAt
  }
}

/// All collections.
struct Collections {
  /// The login collection first, then the others in the order of their identifiers.
  private(set) var all: [Collection]

  init(now: Timestamp) {
    all = [
      Collection(
        identifier: Collection.login, label: Collection.loginLabel, createdAt: now, modifiedAt: now),
      Collection(identifier: Collection.session, label: "Session", createdAt: now, modifiedAt: now),
    ]
  }

  var identifiers: [String] { all.map(\.identifier) }
  /// The collections that credentials record.
  var recorded: [Collection] { Array(all.dropFirst(2)) }

  subscript(identifier: String) -> Collection? { all.first { $0.identifier == identifier } }

  /// The collection of the alias `default`.
  var defaultCollection: String {
    recorded.first(where: \.isDefault)?.identifier ?? Collection.login
  }

  func identifier(ofAlias alias: String) -> String? {
    switch alias {
    case "default": defaultCollection
    case Collection.login, Collection.session: alias
    default: nil
    }
  }

  mutating func set(_ collection: Collection) {
    if let place = all.firstIndex(where: { $0.identifier == collection.identifier }) {
      all[place] = collection
    } else {
      all.append(collection)
    }
  }

  mutating func remove(_ identifier: String) {
    if self[identifier].map({ recorded.contains($0) }) == true {
      all.removeAll { $0.identifier == identifier }
    }
  }

  /// Removes what credentials record: the other collections, and the label of the login collection.
  mutating func removeRecorded() {
    all.removeSubrange(2...)
    all[0].label = Collection.loginLabel
  }

  /// Notes a change of an item.
  mutating func touch(_ identifier: String, at moment: Timestamp) {
    guard let place = all.firstIndex(where: { $0.identifier == identifier }) else { return }
    all[place].modifiedAt = max(all[place].modifiedAt, moment)
    all[place].createdAt = min(all[place].createdAt, moment)
  }

  /// Returns an identifier that no collection has, for a label.
  func newIdentifier(for label: String) -> String {
    let base = label.isEmpty ? "collection" : label.asPathElement
    var identifier = base
    var number = 1
    while self[identifier] != nil {
      number += 1
      identifier = base + String(number)
    }
    return identifier
  }
}

extension String {
  /// Whether the text can identify a collection, and so be an element of a path.
  var isCollection: Bool {
    !isEmpty && utf8.allSatisfy { $0 == UInt8(ascii: "_") || $0.isAlphanumeric }
  }
}

extension UInt8 {
  fileprivate var isAlphanumeric: Bool {
    let scalar = Unicode.Scalar(self)
    return scalar.isASCII && scalar.properties.isAlphabetic || (48...57).contains(self)
  }
}
