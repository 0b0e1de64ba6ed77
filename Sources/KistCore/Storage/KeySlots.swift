/// The key slots of a storage that has its own key.
///
/// Each slot contains that key, wrapped under another key.
public struct KeySlots: Sendable {
  /// Returns all slots, ordered by number.
  public var list: @Sendable () async throws(StorageError) -> [KeySlotSummary]
  /// Adds a passphrase and returns the resulting slots.
  public var add: @Sendable (KeySlotAddition) async throws(StorageError) -> [KeySlotSummary]
  /// Removes a slot and returns the resulting slots.
  ///
  /// The caller must prove that another slot opens the storage. The last slot is therefore never
  /// removed.
  public var remove: @Sendable (KeySlotRemoval) async throws(StorageError) -> [KeySlotSummary]

  /// Makes a value from the three functions.
  public init(
    list: @escaping @Sendable () async throws(StorageError) -> [KeySlotSummary],
    add: @escaping @Sendable (KeySlotAddition) async throws(StorageError) -> [KeySlotSummary],
    remove: @escaping @Sendable (KeySlotRemoval) async throws(StorageError) -> [KeySlotSummary]
  ) {
    self.list = list
    self.add = add
    self.remove = remove
  }

  /// Returns a value whose functions throw this error.
  ///
  /// It is for a storage that has no key slots or cannot be reached.
  public static func failing(_ error: StorageError) -> KeySlots {
    KeySlots(
      list: { () throws(StorageError) in throw error },
      add: { _ throws(StorageError) in throw error.withOutcome(.unchanged) },
      remove: { _ throws(StorageError) in throw error.withOutcome(.unchanged) })
  }

  /// The value for a storage whose key another program manages.
  public static let none = failing(
    StorageError(
      .badRequest, "this storage has no key slots",
      hint: "change the password of a keyring with the keyring's own program"))
}

/// The public facts about one slot.
public struct KeySlotSummary: Hashable, Sendable {
  /// The kind of secret that opens a slot.
  ///
  /// A client keeps a value that it does not know unchanged.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    /// A file of 32 bytes.
    public static let keyFile = Self(rawValue: "keyFile")
    /// A passphrase.
    public static let passphrase = Self(rawValue: "passphrase")
    /// A kind that this daemon does not know, because a later version made the slot.
    public static let unknown = Self(rawValue: "unknown")

    /// The text in the protocol.
    public let rawValue: String
    /// Makes a kind from any text.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// The number of the slot.
  public var number: Int
  /// The kind of secret that opens it.
  public var kind: Kind
  /// The number of passes over the memory to try a passphrase (RFC 9106); `nil` for a key file.
  public var passes: Int?
  /// The memory needed to try a passphrase, in KiB; `nil` for a key file.
  public var kibibytes: Int?

  /// Makes a summary from its fields.
  public init(number: Int, kind: Kind, passes: Int? = nil, kibibytes: Int? = nil) {
    self.number = number
    self.kind = kind
    self.passes = passes
    self.kibibytes = kibibytes
  }
}

/// A request to add a passphrase that opens the storage.
public struct KeySlotAddition: Equatable, Sendable {
  /// The new passphrase, of 1 to 1,024 bytes.
  public var passphrase: Secret
  /// A passphrase that opens the storage now.
  ///
  /// Either this or `currentKey` is required.
  public var current: Secret?
  /// The 32 bytes of a key file that opens the storage now.
  public var currentKey: Secret?
  /// Whether to remove the slot that `current` opens, in the same step.
  public var replacesCurrent: Bool
  /// Whether the new passphrase may have fewer than 8 bytes.
  public var allowsWeak: Bool

  /// Makes a request.
  public init(
    passphrase: Secret, current: Secret? = nil, currentKey: Secret? = nil,
    replacesCurrent: Bool = false, allowsWeak: Bool = false
  ) {
    self.passphrase = passphrase
    self.current = current
    self.currentKey = currentKey
    self.replacesCurrent = replacesCurrent
    self.allowsWeak = allowsWeak
  }
}

/// A request to remove a slot.
public struct KeySlotRemoval: Equatable, Sendable {
  /// The number of the slot.
  public var number: Int
  /// A passphrase of another slot.
  ///
  /// Either this or `currentKey` is required.
  public var current: Secret?
  /// The 32 bytes of the key file of another slot.
  public var currentKey: Secret?

  /// Makes a request.
  public init(number: Int, current: Secret? = nil, currentKey: Secret? = nil) {
    self.number = number
    self.current = current
    self.currentKey = currentKey
  }
}
