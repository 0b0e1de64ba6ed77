internal import KistCore
internal import KistInterop

/// The attributes of an item, as programs on the bus see them, and how a credential stores them.
///
/// An item that a program made has its attributes in the credential, unchanged. A credential that
/// kist saved has the attributes that kist would give it in a keyring.
enum ItemAttributes {
  /// The identifier of the collection, for all except the default one.
  static let collection = "kist:collection"
  /// Marks the credential that records a collection.
  static let record = "kist:record"

  /// Returns the attributes of a credential's item.
  ///
  /// An attribute that cannot be sent is left out.
  static func visible(of summary: CredentialSummary) -> Attributes {
    var visible: Attributes = [:]
    for (name, value) in summary.attributes.sorted
    where isVisible(name, value) { visible[name] = value }
    if summary.attributes[Attributes.itemMark] == nil {
      visible[Attributes.schemaName] = Attributes.kistSchema
      for (name, value) in [("service", summary.key.service), ("account", summary.key.account)] {
        visible[name] = value.canBeSent ? value : nil
      }
    }
    return visible
  }

  private static func isVisible(_ name: String, _ value: String) -> Bool {
    !Attributes.isReserved(name) && name.canBeSent && value.canBeSent
  }

  /// Returns the attributes to store for an item that had a summary.
  ///
  /// The attributes that programs on the bus do not see stay.
  static func stored(
    _ visible: Attributes, contentType type: String, over summary: CredentialSummary
  ) -> Attributes {
    var stored = visible
    for (name, value) in summary.attributes.sorted
    where !isVisible(name, value) && stored[name] == nil { stored[name] = value }
    if summary.attributes[Attributes.itemMark] == nil {
      for name in [Attributes.schemaName, "service", "account"] {
        stored[name] = summary.attributes[name]
      }
    }
    stored[Attributes.contentTypeName] = type == Attributes.plainText ? nil : type
    return stored
  }

  /// Checks attributes that a program on the bus sends.
  static func check(_ attributes: Attributes) throws(ServiceError) {
    if attributes.sorted.contains(where: { Attributes.isReserved($0.name) }) {
      throw .invalid(
        "the names of attributes that begin with kist: belong to kist; nothing was changed")
    }
  }

  /// Checks the label of an item.
  static func check(label: String) throws(ServiceError) {
    if label.utf8.count > Limits.label {
      throw .overLimit("a label may have \(Limits.label) bytes; nothing was changed")
    }
  }

  /// Checks a content type, which is an attribute of a credential.
  static func check(contentType: String) throws(ServiceError) {
    if contentType.utf8.count > Limits.attributeValue {
      throw .overLimit(
        "a content type may have \(Limits.attributeValue) bytes; nothing was changed")
    }
  }
}

extension CredentialSummary {
  /// The collection of the item.
  ///
  /// Any client of kistd can store any value; one that names no stored collection is ignored.
  var collection: String {
    guard let collection = attributes[ItemAttributes.collection], collection.isCollection,
      collection != Collection.session
    else { return Collection.login }
    return collection
  }
  var contentType: String { attributes[Attributes.contentTypeName] ?? Attributes.plainText }
  var recordsCollection: Bool { attributes[ItemAttributes.record] != nil }
  /// The label to show; kist shows a credential without a label by its names.
  var shownLabel: String {
    label ?? (key.account.isEmpty ? key.service : "\(key.service) \(key.account)")
  }
}

extension String {
  /// The label of a credential for an item with this label.
  ///
  /// kist allows no control characters there, but Python's keyring sends them if a name has some.
  var asLabel: String? {
    guard !isEmpty else { return nil }
    var label = ""
    for scalar in unicodeScalars {
      label.unicodeScalars.append(
        scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar)
    }
    return label
  }

  /// Whether the text can be sent: D-Bus allows no NUL, and sd-bus no noncharacters.
  fileprivate var canBeSent: Bool {
    // In UTF-8, noncharacters begin with one of these bytes.
    utf8.allSatisfy { $0 != 0 && $0 < 0xEF }
      || unicodeScalars.allSatisfy { $0.value != 0 && !$0.properties.isNoncharacterCodePoint }
  }
}
