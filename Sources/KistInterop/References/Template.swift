package import KistCore

/// A text with places for secrets: `{{ kist://SERVICE/ACCOUNT }}`.
///
/// Everything else stays unchanged, including other `{{`, as in another tool's template.
package struct Template: Sendable {
  /// The maximum size of a template before and after filling, in bytes: 1 MiB and 16 MiB.
  package static let longest = 1 << 20
  package static let longestFilled = 16 << 20

  private enum Part { case text(Range<Int>), reference(CredentialReference, line: Int) }

  private let text: Secret
  private let parts: [Part]

  /// Reads a template; throws for a place that begins with a reference but is not valid.
  package init(reading text: Secret) throws(StorageError) {
    self.text = text
    parts = try text.withBytes(Self.parts(of:))
  }

  /// Throws `denied` for a reference to a service not in `services`, unless that is empty.
  package func check(only services: [String]) throws(StorageError) {
    for case .reference(let reference, let line) in parts {
      try reference.check(isOfOneOf: services, at: Self.place(line))
    }
  }

  /// Returns the text with the secrets in their places.
  package func filled(from storage: UserStorage) async throws(StorageError) -> Secret {
    var references = References(in: storage)
    var filled = WipedBytes(capacity: text.count * 2)
    for part in parts {
      switch part {
      case .text(let range):
        try Self.checkLength(filled.count + range.count)
        text.withBytes { filled.append($0.extracting(range)) }
      case .reference(let reference, let line):
        let secret = try await references.secret(of: reference, at: Self.place(line))
        try Self.checkLength(filled.count + secret.count)
        secret.withBytes { filled.append($0) }
      }
    }
    return Secret(filled)
  }

  private static func checkLength(_ count: Int) throws(StorageError) {
    guard count <= longestFilled else {
      throw .refused("the output is longer than \(longestFilled) bytes", as: .tooLarge)
    }
  }

  private static func parts(of bytes: Span<UInt8>) throws(StorageError) -> [Part] {
    var parts: [Part] = []
    var (start, offset, line) = (0, 0, 1)
    while offset < bytes.count {
      if bytes[offset] == UInt8(ascii: "\n") { line += 1 }
      guard let content = placeForSecret(in: bytes, at: offset) else {
        offset += 1
        continue
      }
      let reference = try CredentialReference(
        String(validating: bytes.extracting(content.reference)), at: place(line))
      guard let end = content.end else {
        throw .refused(
          "\(place(line)) has a reference without }} after it",
          hint: "write it as {{ kist://SERVICE/ACCOUNT }}, and a blank in a name as %20")
      }
      parts += [.text(start..<offset), .reference(reference, line: line)]
      (start, offset) = (end, end)
    }
    return parts + [.text(start..<bytes.count)]
  }

  /// Returns the reference after a `{{`, and the end of the `}}` after it, if there is one.
  ///
  /// Returns `nil` if no reference begins there.
  private static func placeForSecret(
    in bytes: Span<UInt8>, at start: Int
  ) -> (reference: Range<Int>, end: Int?)? {
    guard isPair("{", in: bytes, at: start) else { return nil }
    let first = (start + 2..<bytes.count).first { !isBlank(bytes[$0]) } ?? bytes.count
    guard isReference(bytes.extracting(first...)) else { return nil }
    let last =
      (first..<bytes.count).first {
        isBlank(bytes[$0]) || bytes[$0] == UInt8(ascii: "}") || bytes[$0] == UInt8(ascii: "\n")
      } ?? bytes.count
    let close = (last..<bytes.count).first { !isBlank(bytes[$0]) } ?? bytes.count
    return (first..<last, isPair("}", in: bytes, at: close) ? close + 2 : nil)
  }

  private static func isPair(
    _ brace: Unicode.Scalar, in bytes: Span<UInt8>, at offset: Int
  ) -> Bool {
    offset + 1 < bytes.count && bytes[offset] == UInt8(ascii: brace)
      && bytes[offset + 1] == UInt8(ascii: brace)
  }

  private static func place(_ line: Int) -> String { "line \(line) of the template" }
}
