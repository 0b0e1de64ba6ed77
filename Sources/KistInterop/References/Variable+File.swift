package import KistCore

extension Variable {
  /// The most bytes of a file of variables: 1 MiB.
  package static let longestFile = 1 << 20

  /// Reads a file of variables: `NAME=value` or `NAME=kist://SERVICE/ACCOUNT` on each line.
  ///
  /// The value is everything after the equals sign, byte for byte: quotes, escapes and comments
  /// have no meaning there. Blank lines and lines that begin with `#` are skipped.
  package static func variables(inFile text: Secret, place: String) throws(StorageError)
    -> [Variable]
  {
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
    guard
      let equals = line.indices.first(where: { line[$0] == UInt8(ascii: "=") }),
      let name = name((0..<equals).map { line[$0] })
    else {
      throw StorageError(
        .badRequest, "\(place) is not NAME=value",
        hint: "a name has letters, digits and underscores, with nothing before it")
    }
    var value = WipedBytes(capacity: line.count - equals)
    value.append(line.extracting((equals + 1)...))
    guard value.withBytes(isReference) else {
      return Variable(name: name, value: .text(Secret(value)), place: place)
    }
    guard let reference = value.withBytes(CredentialReference.init(reading:)) else {
      throw .badReference(at: place)
    }
    return Variable(name: name, value: .reference(reference), place: place)
  }
}
