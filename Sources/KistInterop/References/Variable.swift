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

  /// Reads `NAME=kist://SERVICE/ACCOUNT`, the value of an option; errors mention option and name.
  ///
  /// Refuses a text, because it may be a secret, which must not be an argument.
  ///
  /// - Parameter place: what an error mentions if there is no name.
  package init(_ text: String, of option: String, place: String) throws(StorageError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = Self.name(parts[0].utf8) else {
      throw .badRequest(
        "\(place) is not NAME=kist://SERVICE/ACCOUNT",
        hint: "a name consists of letters, digits and underscores")
    }
    let place = "\(option) \(name)"
    let reference = try CredentialReference(String(parts[1]), at: place)
    self.init(name: name, value: .reference(reference), place: place)
  }

  /// Whether a text is a variable name: letters, digits and underscores, the first not a digit.
  package static func isName(_ text: String) -> Bool { name(text.utf8) != nil }

  static func name(_ utf8: some Collection<UInt8>) -> String? {
    guard let first = utf8.first, !(0x30...0x39).contains(first),
      utf8.allSatisfy({ isAlphanumeric($0, or: "_") })
    else { return nil }
    return String(decoding: utf8, as: UTF8.self)
  }
}

extension Variable {
  /// Throws `denied` for a reference to a service not in `services`, unless that is empty.
  package func check(only services: [String]) throws(StorageError) {
    guard case .reference(let reference) = value else { return }
    try reference.check(isOfOneOf: services, at: place)
  }

  /// The maximum size of a file of variables, in bytes: 1 MiB.
  package static let longestFile = 1 << 20

  /// Reads a file of variables: `NAME=value` or `NAME=kist://SERVICE/ACCOUNT` on each line.
  ///
  /// The value is everything after the equals sign, byte for byte: quotes, escapes and comments
  /// have no meaning there. Blank lines and lines that begin with `#` are skipped.
  package static func variables(
    inFile text: Secret, place: String
  ) throws(StorageError) -> [Variable] {
    var variables: [Variable] = []
    try text.forEachLine { (line, number) throws(StorageError) in
      if let variable = try variable(in: line, place: "\(place), line \(number)") {
        variables.append(variable)
      }
    }
    return variables
  }

  private static func variable(in line: Span<UInt8>, place: String) throws(StorageError)
    -> Variable?
  {
    guard let first = line.indices.first(where: { !isBlank(line[$0]) }) else { return nil }
    if line[first] == UInt8(ascii: "#") { return nil }
    guard let equals = line.firstOffset(of: UInt8(ascii: "="), from: 0),
      let name = name((0..<equals).map { line[$0] })
    else {
      throw .badRequest(
        "\(place) is not NAME=value",
        hint: "a name consists of letters, digits and underscores; write nothing before it")
    }
    let bytes = line.extracting((equals + 1)...)
    let value =
      isReference(bytes)
      ? Value.reference(try CredentialReference(String(validating: bytes), at: place))
      : .text(Secret(copying: bytes))
    return Variable(name: name, value: value, place: place)
  }
}
