/// What a machine knows of a vault that several machines share.
public struct SharedVaultStatus: Sendable, Equatable {
  /// The number of machines.
  public var members: Int
  /// The number of the vault's key; each new key has the next number.
  public var generation: Int
  /// The revision of the last change that this machine has verified.
  public var head: Revision
  /// The seconds since this machine last confirmed that it had the newest change.
  public var confirmedAgo: Int
  /// Whether the copy on this machine has all changes up to `head`.
  public var isCopyComplete: Bool
  /// What the user should know of the clocks, the adapter and the cluster.
  public var warnings: [String]

  /// Makes a status from its fields.
  public init(
    members: Int, generation: Int, head: Revision, confirmedAgo: Int, isCopyComplete: Bool,
    warnings: [String] = []
  ) {
    self.members = members
    self.generation = generation
    self.head = head
    self.confirmedAgo = confirmedAgo
    self.isCopyComplete = isCopyComplete
    self.warnings = warnings
  }
}
