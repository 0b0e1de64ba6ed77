internal import KistCore
internal import KistJSON

/// An item of the keyring that stores a credential.
struct Item {
  static let schema = "io.kist.Credential"

  let path: ObjectPath
  let summary: CredentialSummary
  /// The generation; 0 if another program made the item.
  let generation: Int

  /// Returns the attributes for a search for the items of a key.
  static func attributes(of key: CredentialKey) -> [String: String] {
    attributes(of: CredentialQuery(service: key.service, account: key.account))
  }

  /// Returns the attributes for a search for the items of a query.
  static func attributes(of query: CredentialQuery) -> [String: String] {
    var attributes = [Name.schema: schema]
    attributes[Name.service] = query.service.map(ItemName.encode)
    attributes[Name.account] = query.account.map(ItemName.encode)
    return attributes
  }

  /// Returns the attributes of a new item.
  static func attributes(of bookkeeping: Bookkeeping) -> [String: String] {
    attributes(of: bookkeeping.summary.key).merging([Name.bookkeeping: bookkeeping.encoded]) { $1 }
  }

  /// Returns the key of the credential that an item with these attributes stores.
  ///
  /// Returns `nil` for another program's item. Such an item has other attributes than a credential,
  /// or a name that no request can have.
  static func key(of attributes: [String: String]) -> CredentialKey? {
    guard
      attributes[Name.schema] == Self.schema,
      let service = attributes[Name.service].flatMap(ItemName.decode),
      let account = attributes[Name.account].flatMap(ItemName.decode),
      // The same encoding as in a search for the key, so that every listed credential can be
      // loaded.
      attributes[Name.service]?.hasSameBytes(as: ItemName.encode(service)) == true,
      attributes[Name.account]?.hasSameBytes(as: ItemName.encode(account)) == true,
      attributes.keys.allSatisfy({ Name.ours.contains($0) || Name.providers.contains($0) })
    else { return nil }
    let key = CredentialKey(service: service, account: account)
    return key.isWithinLimits ? key : nil
  }

  /// Returns whether this item has the current state of the key, and the other one an older state.
  func isNewer(than other: Item) -> Bool {
    (generation, summary.modifiedAt, path.rawValue)
      > (other.generation, other.summary.modifiedAt, other.path.rawValue)
  }

  private enum Name {
    static let schema = "xdg:schema"
    static let service = "service"
    static let account = "account"
    static let bookkeeping = "kist"
    static let ours: Set = [schema, service, account, bookkeeping]
    /// The attributes that KeePassXC adds for the fields of every entry.
    static let providers: Set = ["Title", "UserName", "URL", "Notes", "Uuid", "Path"]
  }
}

extension Item {
  /// Reads the attributes of an item; requests `properties` (`a{sv}`) if there is no bookkeeping.
  init(
    of key: CredentialKey, at path: ObjectPath, _ attributes: [String: String],
    properties: () async throws -> Variant
  ) async throws {
    guard let encoded = attributes[Name.bookkeeping] else {
      let summary = CredentialSummary(of: key, at: path, try await properties())
      self.init(path: path, summary: summary, generation: 0)
      return
    }
    self.init(at: path, try Bookkeeping(decoding: encoded, of: key, at: path))
    guard summary.isWithinLimits else {
      throw StorageError.damagedBookkeeping(path, "has an invalid label or attributes")
    }
  }

  init(at path: ObjectPath, _ bookkeeping: Bookkeeping) {
    self.init(path: path, summary: bookkeeping.summary, generation: bookkeeping.generation)
  }
}

extension CredentialSummary {
  /// Creates the summary of an item without bookkeeping, with a revision made of its path and its
  /// time.
  fileprivate init(of key: CredentialKey, at path: ObjectPath, _ properties: Variant) {
    func moment(_ name: String) -> Timestamp {
      Timestamp(clamping: Int64(clamping: properties.property(name, type: "t")?.uint64 ?? 0))
    }
    let modifiedAt = moment("Modified")
    self.init(
      key: key, createdAt: moment("Created"), modifiedAt: modifiedAt,
      revision: Revision(
        epoch: path.rawValue, sequence: UInt64(clamping: modifiedAt.secondsSinceEpoch)))
    label = properties.property("Label", type: "s")?.string
    // Drops a label that would forge lines in a list, or that no other storage accepts.
    if label == "" || !isWithinLimits { label = nil }
  }
}

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
    return isPlain ? name : mark + name.withBytes(base64)
  }

  /// Returns the name in an attribute; `nil` if it is marked as base64 and is not.
  static func decode(_ text: String) -> String? {
    guard text.utf8.starts(with: mark.utf8) else { return text }
    let name = String(text.dropFirst(mark.count)).withBytes(decodedBase64)
    return name?.withBytes(String.init(validating:))
  }
}

func base64(_ bytes: Span<UInt8>) -> String {
  var text = WipedBytes(capacity: base64Count(of: bytes.count))
  appendBase64(bytes, to: &text)
  return text.withBytes(String.init(repairing:))
}

/// Returns the bytes of a text in base64; `nil` if it is not base64.
func decodedBase64(_ text: Span<UInt8>) -> Secret? {
  var bytes = WipedBytes(capacity: text.count)
  return appendDecodedBase64(text, to: &bytes) ? Secret(bytes) : nil
}
