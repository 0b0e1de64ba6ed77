package import KistCluster
package import KistCore
package import KistShared

extension SharedVault {
  /// A machine of a vault, with its name.
  package struct Machine: Equatable, Sendable {
    /// The id of the machine.
    package var id: RecordID
    /// The name.
    package var name: String
    /// What the machine may do.
    package var role: Member.Role
    /// When the machine was added.
    package var added: Timestamp
    /// Whether its key is also an admin key, as a recovery key is.
    package var isAdmin: Bool
  }

  /// Returns the machines of the vault that a note lists; does not need the cluster.
  ///
  /// - Parameter note: the note beside the copy of the vault on this machine.
  package static func machines(
    in note: [UInt8]?, of identity: MachineIdentity
  ) throws(StorageError) -> [Machine] {
    let known = try KnownVault(noted: note, by: identity)
    return try known.keys.machines(in: known.roster.roster)
  }
}

extension GenerationKeys {
  /// Returns the machines of a roster, with their names.
  func machines(in roster: Roster) throws(StorageError) -> [SharedVault.Machine] {
    try roster.members.map { member throws(StorageError) in
      SharedVault.Machine(
        id: member.keys.id, name: try name(of: member), role: member.role, added: member.added,
        isAdmin: roster.admins.contains(member.keys.signing))
    }
  }
}
