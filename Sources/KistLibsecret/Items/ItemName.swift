internal import KistCore
internal import KistJSON

/// How a service or an account stands in an attribute, which says so itself.
///
/// KeePassXC drops a byte order mark, and puts something else for `{USERNAME}`. A name with such in it
/// stands in base64 behind a mark; every other one stands as it is.
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

  /// The name of an attribute; `nil` for one that is marked as base64, and is not.
  static func decode(_ text: String) -> String? {
    guard text.utf8.starts(with: mark.utf8) else { return text }
    var name = WipedBytes(capacity: text.utf8.count)
    let encoded = String(text.dropFirst(mark.count))
    guard encoded.withBytes({ appendDecodedBase64($0, to: &name) }) else { return nil }
    return name.withBytes(String.init(validating:))
  }
}

extension WipedBytes {
  /// The bytes as text, which they are known to be.
  var string: String { withBytes(String.init(repairing:)) }
}
