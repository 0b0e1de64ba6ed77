package import KistCore

extension NewCredential {
  /// Makes the credential in which kist keeps an item of another program.
  ///
  /// The Secret Service adapter and `kist import keyring` use it. So a program finds its items through
  /// the adapter after an import, too. Attributes of the item that belong to kist are left out.
  package init(
    item attributes: Attributes, label: String, secret: Secret, contentType: String,
    key: CredentialKey, mark: String
  ) {
    var stored = attributes
    for (name, _) in attributes.sorted where Attributes.isReserved(name) { stored[name] = nil }
    stored[Attributes.itemMark] = mark
    if contentType != Attributes.plainText { stored[Attributes.contentTypeName] = contentType }
    self.init(key: key, secret: secret, label: label.isEmpty ? nil : label, attributes: stored)
  }
}

extension Attributes {
  /// The name of the attribute with which kist marks the items of other programs.
  package static let itemMark = "kist:item"
  /// The name of the attribute with the content type of an item, unless it is `plainText`.
  package static let contentTypeName = "kist:content-type"
  package static let plainText = "text/plain"
  /// The schema of the items with the secrets of sandboxed applications, and the name of the
  /// attribute with the application.
  package static let portalSchema = "org.freedesktop.portal.Secret"
  package static let applicationName = "app_id"

  /// Returns the mark for a new item: 16 hexadecimal digits that no other item has.
  package static func newItemMark() -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
