internal import KistCore

/// An item of the keyring that keeps a credential.
struct Item {
  static let schema = "io.kist.Credential"

  let path: ObjectPath
  let summary: CredentialSummary
  /// 0 where another program made the item.
  let generation: Int

  /// The attributes that an item is looked for by.
  static func attributes(of key: CredentialKey) -> [String: String] {
    [
      Name.schema: schema, Name.service: ItemName.encode(key.service),
      Name.account: ItemName.encode(key.account),
    ]
  }

  /// The attributes that the items of a query are looked for by.
  static func attributes(of query: CredentialQuery) -> [String: String] {
    var attributes = [Name.schema: schema]
    attributes[Name.service] = query.service.map(ItemName.encode)
    attributes[Name.account] = query.account.map(ItemName.encode)
    return attributes
  }

  /// The attributes of an item that is to be made.
  static func attributes(of key: CredentialKey, _ bookkeeping: Bookkeeping) -> [String: String] {
    attributes(of: key).merging([Name.bookkeeping: bookkeeping.encoded]) { $1 }
  }

  /// The key of the credential that an item with these attributes keeps; none for one with others
  /// than a credential's, or with a name that no request can have, which is somebody else's.
  static func key(of attributes: [String: String]) -> CredentialKey? {
    guard
      attributes[Name.schema] == Self.schema,
      let service = attributes[Name.service].flatMap(ItemName.decode),
      let account = attributes[Name.account].flatMap(ItemName.decode),
      // As a search for the key would have it: what is listed can be loaded.
      attributes[Name.service]?.hasSameBytes(as: ItemName.encode(service)) == true,
      attributes[Name.account]?.hasSameBytes(as: ItemName.encode(account)) == true,
      attributes.keys.allSatisfy({ Name.ours.contains($0) || Name.providers.contains($0) })
    else { return nil }
    let key = CredentialKey(service: service, account: account)
    return key.isWithinLimits ? key : nil
  }

  /// Reads the attributes of an item of a key.
  ///
  /// The other properties (`a{sv}`) are asked for where there is no bookkeeping.
  init(
    of key: CredentialKey, at path: ObjectPath, _ attributes: [String: String],
    properties: () async throws -> Variant
  ) async throws {
    self.path = path
    if let encoded = attributes[Name.bookkeeping] {
      let bookkeeping = try Bookkeeping(decoding: encoded, of: path)
      generation = bookkeeping.generation
      summary = bookkeeping.summary(of: key)
      guard summary.isWithinLimits else {
        throw StorageError.damagedBookkeeping(path, "has a label or attributes that no save takes")
      }
    } else {
      generation = 0
      summary = CredentialSummary(of: key, at: path, try await properties())
    }
  }

  /// An item that was just made.
  init(of key: CredentialKey, at path: ObjectPath, _ bookkeeping: Bookkeeping) {
    self.path = path
    generation = bookkeeping.generation
    summary = bookkeeping.summary(of: key)
  }

  /// Whether this is the state of the key that counts, and not the other.
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
    /// What KeePassXC shows of every entry as if they were attributes.
    static let providers: Set = ["Title", "UserName", "URL", "Notes", "Uuid", "Path"]
  }
}

extension CredentialSummary {
  /// The summary of an item without bookkeeping; its revision follows from its path and its time.
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
    // One that forges lines where it is listed, or that no other storage takes.
    if label == "" || !isWithinLimits { label = nil }
  }
}
