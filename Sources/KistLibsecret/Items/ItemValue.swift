internal import KistCore
internal import KistJSON

/// How a secret stands in the value of an item, which says so itself.
///
/// Keyrings are not exact: gnome-keyring's file of a keyring without a password gives back
/// `C:\temp` with a tab in it, loses blanks at the ends, and cannot be read at all once a value had
/// several lines; KeePassXC drops a byte order mark, and puts something else for `{USERNAME}`. So
/// what every keyring keeps stands plain, where other programs can read it, and everything else in
/// base64 behind a mark.
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
      guard isMarked(bytes) else { return value }
      var secret = WipedBytes(capacity: bytes.count)
      let text = bytes.extracting(mark.count...)
      return appendDecodedBase64(text, to: &secret) ? Secret(secret) : nil
    }
    guard let secret else { throw .damagedValue(item, "is marked as base64, and is not") }
    guard secret.count <= Limits.secret else {
      throw .damagedValue(item, "has \(secret.count) bytes; the limit is \(Limits.secret)")
    }
    return secret
  }

  /// Whether every keyring keeps these bytes as they are: one line of printable UTF-8 without a
  /// backslash or an opening brace, without a blank at either end, not to be taken for a marked one,
  /// not empty.
  private static func isPlain(_ bytes: Span<UInt8>) -> Bool {
    guard !bytes.isEmpty, !isMarked(bytes), textCount(of: bytes) != nil else { return false }
    let blank = UInt8(ascii: " ")
    guard bytes[0] != blank, bytes[bytes.count - 1] != blank else { return false }
    for offset in bytes.indices {
      switch bytes[offset] {
      case ..<0x20, 0x7F, UInt8(ascii: "\\"), UInt8(ascii: "{"): return false
      // U+0080 to U+009F, controls, and U+2000 to U+203F: blanks, ends of lines, marks of direction.
      case 0xC2 where bytes[offset + 1] < 0xA0: return false
      case 0xE2 where bytes[offset + 1] == 0x80: return false
      // U+FEC0 to U+FEFF, the byte order mark among them.
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
