internal import KistCore

/// The attributes of an item, as programs on the bus see them, and how a credential stores them.
///
/// An item that a program made has its attributes in the credential, unchanged. A credential that
/// kist saved has the attributes that kist would give it in a keyring.
enum ItemAttributes {
  /// The prefix of attributes that no program on the bus sees or sets.
  static let reserved = "kist:"
  /// Marks an item that a program on the bus made; its value differs for each item.
  static let item = "kist:item"
  /// The identifier of the collection, for all except the default one.
  static let collection = "kist:collection"
  /// The content type, unless it is `text/plain`.
  static let contentType = "kist:content-type"
  /// Marks the credential that records a collection.
  static let record = "kist:record"

  static let schema = "xdg:schema"
  static let kistSchema = "io.kist.Credential"
  static let plainText = "text/plain"

  /// Returns the attributes of a credential's item.
  ///
  /// Texts of D-Bus cannot contain NUL, so an attribute with one is left out.
  static func visible(of summary: CredentialSummary) -> Attributes {
    var visible: Attributes = [:]
    for (name, value) in summary.attributes.sorted
    where !isReserved(name) && !value.utf8.contains(0) { visible[name] = value }
    if summary.attributes[item] == nil {
      visible[schema] = kistSchema
      visible["service"] = summary.key.service
      visible["account"] = summary.key.account
    }
    return visible
  }

  /// Returns the attributes to store for an item that had a summary, or is new.
  static func stored(
    _ visible: Attributes, contentType type: String, over summary: CredentialSummary
  ) -> Attributes {
    var stored = visible
    for (name, value) in summary.attributes.sorted where isReserved(name) { stored[name] = value }
    if summary.attributes[item] == nil {
      for name in [schema, "service", "account"] { stored[name] = summary.attributes[name] }
    }
    stored[contentType] = type == plainText ? nil : type
    return stored
  }

  /// Checks attributes that a program on the bus sends.
  static func check(_ attributes: [String: String]) throws(ServiceError) {
    if attributes.keys.contains(where: isReserved) {
      throw .invalid(
        "the names of attributes that begin with kist: belong to kist; nothing was changed")
    }
  }

  static func isReserved(_ name: String) -> Bool { name.utf8.starts(with: reserved.utf8) }
}

extension CredentialSummary {
  /// The collection of the item.
  var collection: String { attributes[ItemAttributes.collection] ?? Collection.login }
  var contentType: String { attributes[ItemAttributes.contentType] ?? ItemAttributes.plainText }
  var recordsCollection: Bool { attributes[ItemAttributes.record] != nil }
  /// The label to show; kist shows a credential without a label by its names.
  var shownLabel: String {
    label ?? (key.account.isEmpty ? key.service : "\(key.service) \(key.account)")
  }
}
