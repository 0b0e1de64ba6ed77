/// The fields of a stored credential that a save keeps where the new credential does not have them.
public struct KeptFields: OptionSet, Hashable, Sendable {
  /// The label.
  public static let label = KeptFields(rawValue: 1)
  /// Each attribute whose name the new credential does not have.
  public static let attributes = KeptFields(rawValue: 2)
  /// The expiry, unless it has passed.
  ///
  /// An expiry that has passed belongs to the replaced secret; the new one would be useless with it.
  public static let expiresAt = KeptFields(rawValue: 4)
  /// All these fields.
  public static let all: KeptFields = [.label, .attributes, .expiresAt]

  /// The fields as bits.
  public let rawValue: UInt8

  /// Makes a set of fields from bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }
}

extension SaveRequest {
  /// Returns the credential to store in place of the stored one, with the kept fields of that one.
  ///
  /// Throws `tooLarge` if it exceeds a limit with the kept attributes. A storage calls this in the
  /// step in which it saves.
  public func credential(
    keepingPartsOf stored: CredentialSummary?, at now: Timestamp
  ) throws(StorageError) -> NewCredential {
    guard let stored, !keep.isEmpty else { return credential }
    var credential = credential
    if keep.contains(.label) { credential.label = credential.label ?? stored.label }
    if keep.contains(.expiresAt), !stored.isExpired(at: now) {
      credential.expiresAt = credential.expiresAt ?? stored.expiresAt
    }
    if keep.contains(.attributes) {
      credential.attributes = stored.attributes.merging(credential.attributes)
      do { try credential.checkNames() } catch { throw error.withOutcome(.unchanged) }
    }
    return credential
  }
}
