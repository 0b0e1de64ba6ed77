internal import KistCore
internal import KistJSON

/// The encoding of a service or an account in an attribute.
///
/// KeePassXC drops a byte order mark, and replaces `{USERNAME}`. A name with a byte order mark or
/// an opening brace is stored as a mark and base64. So is a name that begins with the mark. Every
/// other name is stored unchanged.
enum ItemName {
  private static let mark = "kist1:"

  static func encode(_ name: String) -> String {
    let isPlain =
      !name.utf8.starts(with: mark.utf8)
      && !name.unicodeScalars.contains { $0 == "{" || $0 == "\u{FEFF}" }
    guard !isPlain else { return name }
    var text = WipedBytes(capacity: base64Count(of: name.utf8.count))
    name.withBytes { appendBase64($0, to: &text) }
    return mark + text.string
  }

  /// Returns the name in an attribute; `nil` if it is marked as base64 and is not.
  static func decode(_ text: String) -> String? {
    guard text.utf8.starts(with: mark.utf8) else { return text }
    var name = WipedBytes(capacity: text.utf8.count)
    let encoded = String(text.dropFirst(mark.count))
    guard encoded.withBytes({ appendDecodedBase64($0, to: &name) }) else { return nil }
    return name.withBytes(String.init(validating:))
  }
}

extension WipedBytes {
  /// The bytes as text; they must be text.
  var string: String { withBytes(String.init(repairing:)) }
}
