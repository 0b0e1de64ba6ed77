package import KistCore

/// The lines of a tool's configuration file that hold a secret in plain text.
package enum PlainLines: Sendable {
  /// `NAME = VALUE` or `NAME: VALUE`, where the name ends with one of these.
  case settings([StaticString])
  /// `host:port:database:user:password` of PostgreSQL: "The Password File".
  case pgpass
  /// An XML element with one of these names.
  case elements([StaticString])

  /// An address with a password: `https://user:password@host`.
  case addresses

  /// Returns whether a text has such a line.
  ///
  /// A value that begins with `$` or `{` is a variable or encrypted, and does not count.
  package func occur(in text: Secret) -> Bool {
    var occur = false
    try? text.forEachLine { (line, _) throws(StorageError) in
      occur = occur || isPlain(line)
    }
    return occur
  }

  private func isPlain(_ line: Span<UInt8>) -> Bool {
    switch self {
    case .settings(let names): hasSetting(line, names)
    case .pgpass: hasPassword(line)
    case .elements(let names): hasElement(line, names)
    case .addresses: hasPasswordInAddress(line)
    }
  }
}

private func hasSetting(_ line: Span<UInt8>, _ names: [StaticString]) -> Bool {
  let line = line.extracting(line.trimmed)
  guard !line.isEmpty, ![UInt8(ascii: "#"), UInt8(ascii: ";")].contains(line[0]) else {
    return false
  }
  for offset in line.indices where [UInt8(ascii: "="), UInt8(ascii: ":")].contains(line[offset]) {
    let before = line.extracting(..<offset)
    let name = before.extracting(before.trimmed)
    if names.contains(where: { name.hasSuffix($0) }) {
      return line.extracting((offset + 1)...).isPlainValue
    }
  }
  return false
}

private func hasPassword(_ line: Span<UInt8>) -> Bool {
  guard line.count > 0, line[0] != UInt8(ascii: "#") else { return false }
  var (colons, isEscaped) = (0, false)
  for offset in line.indices {
    let byte = line[offset]
    if colons == 4 { return true }
    if byte == UInt8(ascii: ":"), !isEscaped { colons += 1 }
    isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
  }
  return false
}

private func hasElement(_ line: Span<UInt8>, _ names: [StaticString]) -> Bool {
  for offset in line.indices where line[offset] == UInt8(ascii: "<") {
    let rest = line.extracting((offset + 1)...)
    for name in names where rest.hasPrefix(name) {
      let value = rest.extracting(name.utf8CodeUnitCount...)
      guard value.count > 1, value[0] == UInt8(ascii: ">") else { continue }
      let text = value.extracting(1...)
      if text[0] != UInt8(ascii: "<"), text.isPlainValue { return true }
    }
  }
  return false
}

private func hasPasswordInAddress(_ line: Span<UInt8>) -> Bool {
  guard let start = line.indices.first(where: { !isBlank(line[$0]) }),
    ![UInt8(ascii: "#"), UInt8(ascii: ";")].contains(line[start])
  else { return false }
  for offset in line.indices where line.extracting(offset...).hasPrefix("://") {
    let rest = line.extracting((offset + 3)...)
    guard let colon = rest.indices.first(where: { isEndOfUser(rest[$0]) }),
      rest[colon] == UInt8(ascii: ":")
    else { continue }
    let password = rest.extracting((colon + 1)...)
    guard
      let end = password.indices.first(where: {
        password[$0] == UInt8(ascii: "@") || password[$0] == UInt8(ascii: "/")
          || isBlank(password[$0])
      }), password[end] == UInt8(ascii: "@")
    else { continue }
    if password.extracting(..<end).isPlainValue { return true }
  }
  return false
}

/// Whether a byte ends the user in an address: before the password, the host or the path.
private func isEndOfUser(_ byte: UInt8) -> Bool {
  isBlank(byte) || [UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "/")].contains(byte)
}

extension Span<UInt8> {
  /// Whether a value begins here; blanks and quotes may be before it.
  ///
  /// It reads only up to the value, because it is called for each element of a line.
  fileprivate var isPlainValue: Bool {
    let first = indices.first {
      !isBlank(self[$0]) && ![UInt8(ascii: "\""), UInt8(ascii: "'")].contains(self[$0])
    }
    return first.map { ![UInt8(ascii: "$"), UInt8(ascii: "{")].contains(self[$0]) } ?? false
  }

  fileprivate func hasSuffix(_ suffix: StaticString) -> Bool {
    count >= suffix.utf8CodeUnitCount
      && extracting((count - suffix.utf8CodeUnitCount)...).isEqual(suffix)
  }
}
