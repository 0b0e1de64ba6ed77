internal import KistCore
internal import KistJSON

/// The data of a credential besides its secret.
///
/// It is stored in the item's attribute `kist`, without the key, as a JSON object in base64.
struct Bookkeeping: Equatable {
  /// The number that grows with each save of a key; of two items of a key, the higher one is newer.
  let generation: Int
  let summary: CredentialSummary

  /// Creates the next state of a key.
  init(
    _ credential: NewCredential, after current: Item?, revision: Revision, at now: Timestamp
  ) {
    // Does not start at 1, because a keyring that is out of reach now may have an older item of the
    // key.
    generation = max((current?.generation ?? 0) + 1, Int(clamping: now.secondsSinceEpoch))
    summary = CredentialSummary(
      of: credential, createdAt: current?.summary.createdAt ?? now, modifiedAt: now,
      revision: revision)
  }
}

extension Bookkeeping {
  private static let version = 1
  private static let names: [StaticString] = [
    "version", "generation", "revision", "label", "attributes", "createdAt", "modifiedAt",
    "expiresAt",
  ]

  var encoded: String {
    JSONWriter.object { writer in
      writer.member("version", Self.version)
      writer.member("generation", generation)
      writer.member("revision", summary.revision.rawValue)
      writer.member("label", summary.label)
      writer.member("attributes") { writer in
        for (name, value) in summary.attributes.sorted { writer.member(escaping: name, value) }
      }
      writer.member("createdAt", summary.createdAt)
      writer.member("modifiedAt", summary.modifiedAt)
      writer.member("expiresAt", summary.expiresAt)
    }.withBytes(base64)
  }

  init(
    decoding encoded: String, of key: CredentialKey, at item: ObjectPath
  ) throws(StorageError) {
    guard let json = encoded.withBytes(decodedBase64) else {
      throw .damagedBookkeeping(item, "is not base64")
    }
    do throws(JSONError) {
      let object = try JSONObject(json)
      guard try object.required("version").integer() == Self.version else {
        throw try object.required("version").error("is of a newer kist")
      }
      try object.refuseKeys(except: Self.names)
      generation = try object.required("generation").integer()
      guard (1..<1 << 52).contains(generation) else {
        throw try object.required("generation").error("is out of range")
      }
      let revision = Revision(rawValue: try object.required("revision").string())
      guard (1...64).contains(revision.rawValue.utf8.count),
        revision.rawValue.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      else { throw try object.required("revision").error("is not a revision") }
      var attributes = Attributes()
      for (name, value) in try object.required("attributes").strings() { attributes[name] = value }
      summary = CredentialSummary(
        key: key, label: try object["label"]?.string(), attributes: attributes,
        createdAt: try object.required("createdAt").moment(),
        modifiedAt: try object.required("modifiedAt").moment(),
        expiresAt: try object["expiresAt"]?.moment(), revision: revision)
    } catch { throw .damagedBookkeeping(item, "is wrong at \(error.description)") }
  }
}

extension JSONValue {
  fileprivate func moment() throws(JSONError) -> Timestamp {
    guard let moment = Timestamp(rfc3339: try string()) else { throw error("is not a time") }
    return moment
  }
}

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
