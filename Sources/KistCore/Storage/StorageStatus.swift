/// How a storage stands.
public struct StorageStatus: Sendable, Equatable {
  // The words below are open: a client keeps one that it does not know as it was told.

  /// What an answered change survives.
  public struct Durability: RawRepresentable, Hashable, Sendable {
    /// A power cut.
    public static let disk = Self(rawValue: "disk")
    /// What the keyring's provider lets it survive.
    public static let provider = Self(rawValue: "provider")
    /// Not known: the storage could not be opened.
    public static let unknown = Self(rawValue: "unknown")
    /// Nothing: it is gone with the process.
    public static let memory = Self(rawValue: "memory")

    /// The word on the wire.
    public let rawValue: String
    /// Takes a word as it is.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// What is known of the integrity of what is stored.
  public struct Integrity: RawRepresentable, Hashable, Sendable {
    /// Being checked.
    public static let checking = Self(rawValue: "checking")
    /// Checked, and whole.
    public static let ok = Self(rawValue: "ok")
    /// Checked, and damaged: what is whole is still loaded, nothing is changed.
    public static let failed = Self(rawValue: "failed")

    /// The word on the wire.
    public let rawValue: String
    /// Takes a word as it is.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// What a storage is unlocked with.
  public struct Unlocking: RawRepresentable, Hashable, Sendable {
    /// The key file that the daemon was started with: `unlock` takes nothing.
    public static let keyFile = Self(rawValue: "keyFile")
    /// A passphrase, which `unlock` takes.
    public static let passphrase = Self(rawValue: "passphrase")
    /// What the keyring's provider asks for itself: `unlock` takes nothing.
    public static let provider = Self(rawValue: "provider")

    /// The word on the wire.
    public let rawValue: String
    /// Takes a word as it is.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// The kind of storage: `memory`, `encrypted-file`.
  public var storage: String
  /// Why this storage was chosen.
  public var reason: String?
  /// Whether it is locked.
  public var isLocked: Bool
  /// What it is unlocked with; `nil` where nothing locks it.
  public var unlocksWith: Unlocking?
  /// Whether it would open again by itself, without a person, after a restart.
  public var reopensAtRestart: Bool
  /// What an answered change survives.
  public var durability: Durability
  /// What protects the key, and from what, in a sentence.
  public var keyProtection: String
  /// What is known of the integrity; `nil` where the storage cannot tell or is locked.
  public var integrity: Integrity?
  /// How many credentials there are; `nil` when it is locked.
  public var count: Int?
  /// Seconds since the daemon started.
  public var uptime: Int?

  /// Puts a status together.
  public init(
    storage: String, reason: String? = nil, isLocked: Bool,
    unlocksWith: Unlocking? = nil, reopensAtRestart: Bool, durability: Durability,
    keyProtection: String,
    integrity: Integrity? = nil, count: Int? = nil, uptime: Int? = nil
  ) {
    self.storage = storage
    self.reason = reason
    self.isLocked = isLocked
    self.unlocksWith = unlocksWith
    self.reopensAtRestart = reopensAtRestart
    self.durability = durability
    self.keyProtection = keyProtection
    self.integrity = integrity
    self.count = count
    self.uptime = uptime
  }
}
