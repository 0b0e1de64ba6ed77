/// An item of another program in a keyring.
package struct KeyringItem: Sendable {
  package var attributes: [String: String]
  package var label: String
  /// The value as stored; `nil` if it is missing.
  package var value: Secret?
  /// The content type that the program gave to the value.
  package var contentType: String

  package init(
    attributes: [String: String], label: String, value: Secret?, contentType: String
  ) {
    self.attributes = attributes
    self.label = label
    self.value = value
    self.contentType = contentType
  }
}
