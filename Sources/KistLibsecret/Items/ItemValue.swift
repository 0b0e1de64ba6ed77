internal import KistCore
internal import KistJSON

/// The encoding of a secret in the value of an item.
///
/// Keyrings change some values:
///
/// - gnome-keyring's file of a keyring without a password returns `C:\temp` with a tab in it, and
///   loses blanks at the ends. It cannot be read at all after a value had several lines.
/// - KeePassXC drops a byte order mark, and replaces `{USERNAME}`.
///
/// A value that every keyring keeps is stored plain, so that other programs can read it. Any other
/// value is stored as a mark and base64.
enum ItemValue {
  private static let mark = Array("kist1:".utf8)

  static func encode(_ secret: Secret) -> Secret {
    secret.withBytes { bytes in
      guard !isPlain(bytes) else { return secret }
      var value = WipedBytes(capacity: mark.count + base64Count(of: bytes.count))
      value.append(mark.span)
      appendBase64(bytes, to: &value)
      return Secret(value)
    }
  }

  static func decode(_ value: Secret, of item: ObjectPath) throws(StorageError) -> Secret {
    let secret: Secret? = value.withBytes { bytes in
      isMarked(bytes) ? decodedBase64(bytes.extracting(mark.count...)) : value
    }
    guard let secret else { throw .damagedValue(item, "is marked as base64, but is not base64") }
    guard secret.count <= Limits.secret else {
      throw .damagedValue(item, "has \(secret.count) bytes; the limit is \(Limits.secret)")
    }
    return secret
  }

  /// Returns whether every keyring keeps these bytes unchanged.
  ///
  /// They must be one line of printable UTF-8 that is not empty and does not begin with the mark.
  /// It must have no backslash, no opening brace, and no blank at either end.
  private static func isPlain(_ bytes: Span<UInt8>) -> Bool {
    guard !bytes.isEmpty, !isMarked(bytes), textCount(of: bytes) != nil else { return false }
    let blank = UInt8(ascii: " ")
    guard bytes[0] != blank, bytes[bytes.count - 1] != blank else { return false }
    for offset in bytes.indices {
      switch bytes[offset] {
      case ..<0x20, 0x7F, UInt8(ascii: "\\"), UInt8(ascii: "{"): return false
      // U+0080 to U+009F: controls. U+2000 to U+203F: blanks, line ends and direction marks.
      case 0xC2 where bytes[offset + 1] < 0xA0: return false
      case 0xE2 where bytes[offset + 1] == 0x80: return false
      // U+FEC0 to U+FEFF, which includes the byte order mark.
      case 0xEF where bytes[offset + 1] == 0xBB: return false
      default: continue
      }
    }
    return true
  }

  private static func isMarked(_ bytes: Span<UInt8>) -> Bool {
    bytes.count >= mark.count && mark.indices.allSatisfy { bytes[$0] == mark[$0] }
  }
}
