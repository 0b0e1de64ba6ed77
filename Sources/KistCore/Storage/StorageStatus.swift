/// How a storage stands.
public struct StorageStatus: Sendable, Equatable {
  /// What an answered change survives.
  public enum Durability: String, Sendable {
    /// A power cut.
    case disk
    /// What the keyring's provider lets it survive.
    case provider
    /// Nothing: it is gone with the process.
    case memory
  }

  /// What is known of the integrity of what is stored.
  public enum Integrity: String, Sendable {
    /// Being checked.
    case checking
    /// Checked, and whole.
    case ok
    /// Checked, and damaged: what is whole is still loaded, nothing is changed.
    case failed
  }

  /// The kind of storage: `memory`, `encrypted-file`.
  public var storage: String
  /// Why this storage was chosen.
  public var reason: String?
  /// Whether it is locked.
  public var isLocked: Bool
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

  /// Whether a passphrase is what unlocks it; a keyring's provider asks for what it needs itself.
  package var takesPassphrase: Bool { durability != .provider && !reopensAtRestart }

  /// Puts a status together.
  public init(
    storage: String, reason: String? = nil, isLocked: Bool, reopensAtRestart: Bool,
    durability: Durability, keyProtection: String, integrity: Integrity? = nil, count: Int? = nil,
    uptime: Int? = nil
  ) {
    self.storage = storage
    self.reason = reason
    self.isLocked = isLocked
    self.reopensAtRestart = reopensAtRestart
    self.durability = durability
    self.keyProtection = keyProtection
    self.integrity = integrity
    self.count = count
    self.uptime = uptime
  }
}
