package import KistCore

/// A requested variable for a command: a name, and a text or a reference.
package struct Variable: Sendable, Equatable {
  package enum Value: Sendable, Equatable { case text(Secret), reference(CredentialReference) }

  package var name: String
  package var value: Value
  /// The place where it was requested, which errors mention instead of its value.
  package var place: String

  package init(name: String, value: Value, place: String) {
    self.name = name
    self.value = value
    self.place = place
  }

  /// Reads `NAME=kist://SERVICE/ACCOUNT`, the value of an option.
  ///
  /// Refuses a text, because it may be a secret, which must not be an argument.
  package init(option: String, place: String) throws(StorageError) {
    let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = Self.name(parts[0].utf8) else {
      throw .badRequest("\(place) is not NAME=kist://SERVICE/ACCOUNT")
    }
    guard let reference = CredentialReference(String(parts[1])) else {
      throw .badReference(at: place)
    }
    self.init(name: name, value: .reference(reference), place: place)
  }

  /// Whether a text is a valid variable name: letters, digits and underscores, not beginning with a
  /// digit.
  package static func isName(_ text: String) -> Bool { name(text.utf8) != nil }

  /// Returns the name of a variable; `nil` if it is not valid.
  static func name(_ utf8: some Collection<UInt8>) -> String? {
    guard let first = utf8.first, !(0x30...0x39).contains(first), utf8.allSatisfy(isPartOfName)
    else { return nil }
    return String(decoding: utf8, as: UTF8.self)
  }
}

private func isPartOfName(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
    true
  default: false
  }
}
