package import KistCluster
package import KistCore
package import KistShared
package import KistSodium
internal import KistVault

/// A member of a shared vault, for people.
package struct VaultMember: Hashable, Sendable {
  /// The id of the machine.
  package var id: RecordID
  /// The name of the machine.
  package var name: String
  package var role: Member.Role
  package var added: Timestamp
  /// The last moment at which a change of this machine is accepted; `nil` for no limit.
  package var until: Timestamp?

  package init(
    id: RecordID, name: String, role: Member.Role, added: Timestamp, until: Timestamp? = nil
  ) {
    (self.id, self.name, self.role) = (id, name, role)
    (self.added, self.until) = (added, until)
  }
}

/// What an admin decides about a new member.
package struct NewMember: Sendable {
  /// The public keys of the machine.
  package var keys: MachineKeys
  /// The name: 1 to 60 bytes, without control characters.
  package var name: String
  package var role: Member.Role
  /// The last moment at which a change of this machine is accepted; `nil` for no limit.
  package var until: Timestamp?

  package init(keys: MachineKeys, name: String, role: Member.Role, until: Timestamp? = nil) {
    (self.keys, self.name, self.role, self.until) = (keys, name, role, until)
  }
}

extension SharedVault {
  /// Makes a vault in a cluster that has none; this machine and the others are its first members.
  ///
  /// Returns what a member needs to join. Throws `conflict` if the cluster has a vault, and
  /// `badRequest` for a name that is not valid.
  ///
  /// - Parameter name: the name of this machine, which becomes a writer.
  package static func found(
    on cluster: Cluster, admin: SigningKey, name: String, others: [NewMember] = [],
    _ options: ReplicaOptions
  ) async throws(StorageError) -> Invitation {
    let master = try GuardedKey.random()
    func id() -> RecordID {
      // An id has as many bytes as are taken.
      RecordID(options.random(RecordID.size))!
    }
    let keys = try GenerationKeys(
      master: master, vault: id(), generation: 1,
      storeID: options.random(StoreFormat.storeIDSize))
    let own = NewMember(keys: options.machine.keys, name: name, role: .writer)
    let members = try ([own] + others).map { new throws(StorageError) in
      try new.member(wrapping: master, of: keys, options)
    }
    let record = Roster(
      keys, number: 1, before: .none, time: options.now(), admins: [admin.publicKey],
      members: members
    ).encoded(signedBy: admin, index: 0)
    let roster = try VerifiedRoster(
      verifying: record, of: keys.vault, signedBy: admin.publicKey)
    let epoch = options.random(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    let head = keys.encode(
      Head(
        sequence: 0, count: 0, epoch: Epoch(epoch), sum: .zero, roster: roster.digest,
        before: .none, time: options.now(), operation: id(), change: .begin),
      signedBy: options.machine, nonce: options.random(24))
    let commit = Commit(
      expected: Commit.ExpectedHead(generation: 1, bytes: nil),
      puts: [
        .roster(number: 1): record, .head(generation: 1): head,
        .logEntry(generation: 1, sequence: 0): head,
      ])
    guard case .committed = try await cluster.commit(commit) else { throw .hasVault }
    return Invitation(
      vault: keys.vault, admin: admin.publicKey, roster: 1,
      head: HeadPoint(sequence: 0, digest: Digest(of: head)))
  }
}

extension Replica {
  /// Returns the members by name.
  func members() throws(StorageError) -> [VaultMember] {
    let known = try known()
    return try known.roster.roster.members.map { member throws(StorageError) in
      VaultMember(
        id: member.keys.id, name: try known.keys.name(of: member), role: member.role,
        added: member.added, until: member.until)
    }.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  /// Adds a member, or replaces the one with the same keys; returns what it needs to join.
  func add(_ new: NewMember, signedBy admin: SigningKey) async throws(StorageError)
    -> SharedVault
    .Invitation
  {
    try await change { [options] known throws(StorageError) in
      let before = known.roster.roster
      guard let index = before.admins.firstIndex(of: admin.publicKey) else { throw .notAdmin }
      guard before.members.count < SharedFormat.mostMembers || before.member(new.keys.id) != nil
      else { throw .tooManyMembers }
      let (master, _) = try before.openMaster(with: options.machine)
      let member = try new.member(wrapping: master, of: known.keys, options)
      let record = Roster(
        known.keys, number: before.number + 1, before: known.roster.digest, time: options.now(),
        admins: before.admins,
        members: before.members.filter { $0.keys.id != new.keys.id } + [member]
      ).encoded(signedBy: admin, index: UInt32(index))
      let roster = try VerifiedRoster(verifying: record, after: known.roster)
      let invitation = SharedVault.Invitation(
        vault: before.vault, admin: admin.publicKey, roster: roster.roster.number,
        head: known.head.point)
      return .write(
        invitation,
        VaultWrites(
          change: .roster, state: known.state, roster: roster,
          puts: [.roster(number: roster.roster.number): record]))
    }
  }
}

extension NewMember {
  fileprivate func member(
    wrapping master: GuardedKey, of generation: GenerationKeys, _ options: ReplicaOptions
  ) throws(StorageError) -> Member {
    try Member(
      keys, role, name: name, added: options.now(), until: until, wrapping: master,
      of: generation, nonce: options.random(24))
  }
}

extension StorageError {
  fileprivate static let hasVault = refused(
    "the cluster has a vault already; nothing was changed", as: .conflict,
    hint: "join it; or give the new vault another place in the cluster")
  fileprivate static let notAdmin = refused(
    "this key is not the key of an admin of the vault", as: .denied,
    hint: "use the key that was made with the vault")
  fileprivate static let tooManyMembers = refused(
    "the vault has \(SharedFormat.mostMembers) members, which is the limit", as: .full,
    hint: "remove a member that is not used any longer")
}
