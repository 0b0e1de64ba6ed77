/// The ways in to a storage that keeps its own key: in each slot, that key is wrapped under another.
public struct KeySlots: Sendable {
  /// All of them, by number.
  public var list: @Sendable () async throws(StorageError) -> [KeySlotSummary]
  /// Adds a passphrase, and gives the slots that there are then.
  public var add: @Sendable (KeySlotAddition) async throws(StorageError) -> [KeySlotSummary]
  /// Removes one, and gives the slots that there are then.
  ///
  /// Another one must be shown to open the storage first; so the last one is never removed.
  public var remove: @Sendable (KeySlotRemoval) async throws(StorageError) -> [KeySlotSummary]

  /// Makes the three functions one value.
  public init(
    list: @escaping @Sendable () async throws(StorageError) -> [KeySlotSummary],
    add: @escaping @Sendable (KeySlotAddition) async throws(StorageError) -> [KeySlotSummary],
    remove: @escaping @Sendable (KeySlotRemoval) async throws(StorageError) -> [KeySlotSummary]
  ) {
    self.list = list
    self.add = add
    self.remove = remove
  }

  /// Of a storage without any, and of one that cannot be asked: every request is answered with why.
  public static func failing(_ error: StorageError) -> KeySlots {
    KeySlots(
      list: { () throws(StorageError) in throw error },
      add: { _ throws(StorageError) in throw error.withOutcome(.unchanged) },
      remove: { _ throws(StorageError) in throw error.withOutcome(.unchanged) })
  }

  /// Of a storage whose key is somebody else's affair.
  public static let none = failing(
    StorageError(
      .badRequest, "this storage has no key slots",
      hint: "the password of a keyring is changed with the keyring's own program"))
}

/// What is to be known of one slot.
public struct KeySlotSummary: Hashable, Sendable {
  /// What opens a slot; a client keeps a word that it does not know as it was told.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    /// A file of 32 bytes.
    public static let keyFile = Self(rawValue: "keyFile")
    /// A passphrase.
    public static let passphrase = Self(rawValue: "passphrase")

    /// The word on the wire.
    public let rawValue: String
    /// Takes a word as it is.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// Which of the slots it is.
  public var number: Int
  /// What opens it.
  public var kind: Kind
  /// How often the memory is passed over to try a passphrase (RFC 9106); `nil` for a file.
  public var passes: Int?
  /// How much memory that takes, in KiB; `nil` for a file.
  public var kibibytes: Int?

  /// Puts a summary together.
  public init(number: Int, kind: Kind, passes: Int? = nil, kibibytes: Int? = nil) {
    self.number = number
    self.kind = kind
    self.passes = passes
    self.kibibytes = kibibytes
  }
}

/// A passphrase that is to open the storage.
public struct KeySlotAddition: Equatable, Sendable {
  /// The new passphrase, of 1 to 1,024 bytes.
  public var passphrase: Secret
  /// A passphrase that opens the storage now; `nil` where the daemon has a key of its own.
  public var current: Secret?
  /// Whether the slot that `current` opens is removed, in the same step.
  public var replacesCurrent: Bool

  /// Makes an addition.
  public init(passphrase: Secret, current: Secret? = nil, replacesCurrent: Bool = false) {
    self.passphrase = passphrase
    self.current = current
    self.replacesCurrent = replacesCurrent
  }
}

/// A slot that is to open the storage no more.
public struct KeySlotRemoval: Equatable, Sendable {
  /// Which one.
  public var number: Int
  /// The passphrase of a slot that stays; `nil` where the daemon has a key of its own.
  public var current: Secret?

  /// Makes a removal.
  public init(number: Int, current: Secret? = nil) {
    self.number = number
    self.current = current
  }
}
