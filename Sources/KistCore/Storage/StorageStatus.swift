/// The status of a storage.
public struct StorageStatus: Sendable, Equatable {
  // The following types accept any text: a client keeps a value that it does not know unchanged.

  /// What an answered change survives.
  public struct Durability: RawRepresentable, Hashable, Sendable {
    /// It survives a power cut.
    public static let disk = Self(rawValue: "disk")
    /// It survives the loss of a minority of the nodes of a cluster.
    public static let quorum = Self(rawValue: "quorum")
    /// It survives what the keyring's provider guarantees.
    public static let provider = Self(rawValue: "provider")
    /// Not known, because the storage could not be opened.
    public static let unknown = Self(rawValue: "unknown")
    /// It survives nothing: it is lost when the process ends.
    public static let memory = Self(rawValue: "memory")

    /// The text in the protocol.
    public let rawValue: String
    /// Makes a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// The integrity of the stored data.
  public struct Integrity: RawRepresentable, Hashable, Sendable {
    /// The check is running.
    public static let checking = Self(rawValue: "checking")
    /// The check found no damage.
    public static let ok = Self(rawValue: "ok")
    /// The check found damage.
    ///
    /// Undamaged credentials can still be loaded, and no change is accepted.
    public static let failed = Self(rawValue: "failed")

    /// The text in the protocol.
    public let rawValue: String
    /// Makes a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// The means to unlock a storage.
  public struct Unlocking: RawRepresentable, Hashable, Sendable {
    /// The key file or passphrase file that the daemon was started with; `unlock` takes no passphrase.
    public static let keyFile = Self(rawValue: "keyFile")
    /// A passphrase, passed to `unlock`.
    public static let passphrase = Self(rawValue: "passphrase")
    /// A prompt of the keyring's provider; `unlock` takes no passphrase.
    public static let provider = Self(rawValue: "provider")
    /// Means that this daemon does not know, because a later version made all key slots.
    public static let unknown = Self(rawValue: "unknown")

    /// The text in the protocol.
    public let rawValue: String
    /// Makes a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// The kind of storage, for example `memory` or `encrypted-file`.
  public var storage: String
  /// The path of the file with the credentials, as the daemon was given it; `nil` for a keyring.
  public var path: String?
  /// The reason why this storage was chosen.
  public var reason: String?
  /// Whether the storage is locked.
  public var isLocked: Bool
  /// The means to unlock it; `nil` where it cannot be locked.
  public var unlocksWith: Unlocking?
  /// Whether the storage opens again unattended after a restart.
  public var reopensAtRestart: Bool
  /// What an answered change survives.
  public var durability: Durability
  /// One sentence about what protects the key, and from what.
  public var keyProtection: String
  /// Whether secrets are encrypted on their way to the keyring's provider; `nil` for other
  /// storages.
  public var isSessionEncrypted: Bool?
  /// Whether the system keeps the keys in RAM and out of swap, with mlock(2).
  ///
  /// `nil` while the daemon has no keys.
  public var keysInRAM: Bool?
  /// The integrity of the stored data; `nil` where the storage cannot check it or is locked.
  public var integrity: Integrity?
  /// What the user must repair, for example a replaced file; `nil` where nothing is known to be wrong.
  public var problem: StorageError?
  /// The number of credentials; `nil` while the storage is locked.
  public var count: Int?
  /// The state of a shared vault; `nil` for other storages.
  public var vault: SharedVaultStatus?
  /// The seconds since the daemon started.
  public var uptime: Int?

  /// Makes a status from its fields.
  public init(
    storage: String, path: String? = nil, reason: String? = nil, isLocked: Bool,
    unlocksWith: Unlocking? = nil, reopensAtRestart: Bool, durability: Durability,
    keyProtection: String, isSessionEncrypted: Bool? = nil, keysInRAM: Bool? = nil,
    integrity: Integrity? = nil, problem: StorageError? = nil, count: Int? = nil,
    vault: SharedVaultStatus? = nil, uptime: Int? = nil
  ) {
    self.storage = storage
    self.path = path
    self.reason = reason
    self.isLocked = isLocked
    self.unlocksWith = unlocksWith
    self.reopensAtRestart = reopensAtRestart
    self.durability = durability
    self.keyProtection = keyProtection
    self.isSessionEncrypted = isSessionEncrypted
    self.keysInRAM = keysInRAM
    self.integrity = integrity
    self.problem = problem
    self.count = count
    self.vault = vault
    self.uptime = uptime
  }
}
