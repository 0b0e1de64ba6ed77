package import KistCluster
package import KistCore
package import KistShared
package import KistSodium
internal import KistVault

/// What an admin does with the roster of a vault, on a machine that may change the vault.
///
/// It needs no copy of the vault, so a kistd that has the copy open can go on.
package struct VaultAdmin: Sendable {
  let cluster: Cluster
  let options: ReplicaOptions
  let key: SigningKey

  /// - Parameter key: the admin's key.
  package init(_ key: SigningKey, on cluster: Cluster, _ options: ReplicaOptions) {
    (self.key, self.cluster, self.options) = (key, cluster, options)
  }

  /// A machine to add to a vault.
  package struct NewMember: Sendable {
    /// The public keys of the machine.
    package var keys: MachineKeys
    /// What the machine may do.
    package var role: Member.Role
    /// The name, which only members can read: 1 to 60 bytes.
    package var name: String
    /// Whether the key of the machine is also the key of an admin.
    package var isAdmin: Bool

    package init(
      _ keys: MachineKeys, _ role: Member.Role, name: String, isAdmin: Bool = false
    ) {
      (self.keys, self.role, self.name, self.isAdmin) = (keys, role, name, isAdmin)
    }
  }

  /// Makes a vault without credentials, with this machine as its only member and writer.
  ///
  /// Throws `denied` if the cluster has a vault already. Nothing is changed in that case.
  package func makeVault(
    nameOfThisMachine name: String
  ) async throws(StorageError) -> SharedVault.Invitation {
    let master = try options.newMaster()
    let keys = try GenerationKeys(
      master: master, vault: newID(), generation: 1, storeID: options.random(16))
    let member = try self.member(
      NewMember(options.machine.keys, .writer, name: name), master, keys)
    let roster = Roster(
      keys, number: 1, before: .none, time: options.now(), admins: [key.publicKey],
      members: [member]
    ).encoded(signedBy: key, index: 0)
    let verified = try VerifiedRoster(
      verifying: roster, of: keys.vault, signedBy: key.publicKey)
    let epoch = Epoch(options.random(8).reduce(0) { $0 << 8 | UInt64($1) })
    let head = keys.encode(
      Head(
        sequence: 0, count: 0, epoch: epoch, sum: .zero, roster: verified.digest, before: .none,
        time: options.now(), operation: newID(), change: .begin),
      signedBy: options.machine, nonce: options.random(24))
    let commit = Commit(
      expected: Commit.ExpectedHead(generation: 1, bytes: nil),
      puts: [
        .roster(number: 1): roster, .head(generation: 1): head,
        .logEntry(generation: 1, sequence: 0): head,
      ])
    do throws(StorageError) { try await SharedVault.requireNone(on: cluster) } catch {
      throw error.unchanged
    }
    try await settle(commit) { () throws(StorageError) in
      let found = try await cluster.read([
        .logEntry(generation: 1, sequence: 0), .roster(number: 1),
      ])
      if found[0] == head, found[1] == roster { return true }
      guard found == [nil, nil] else { throw .vaultExists }
      return false
    }
    return SharedVault.Invitation(
      vault: keys.vault, admin: key.publicKey, roster: 1,
      head: HeadPoint(sequence: 0, digest: Digest(of: head)))
  }

  /// Adds a machine to the roster.
  ///
  /// Throws `badRequest` if the machine is a member already, and `denied` if this key may not sign
  /// the roster, or if this machine may not change the vault.
  ///
  /// - Parameter note: the note beside the copy of the vault on this machine.
  package func add(
    _ member: NewMember, note: [UInt8]?
  ) async throws(StorageError) -> SharedVault.Invitation {
    try await add(member, after: try KnownVault(noted: note, by: options.machine))
  }

  /// Adds a machine to the roster, as a machine that has no copy of the vault.
  package func add(
    _ member: NewMember, after invitation: SharedVault.Invitation
  ) async throws(StorageError) -> SharedVault.Invitation {
    let known: KnownVault
    do throws(StorageError) {
      known = try await SharedVault.known(invitation, on: cluster, options).0
    } catch { throw error.unchanged }
    return try await add(member, after: known)
  }

  private func add(
    _ member: NewMember, after known: KnownVault
  ) async throws(StorageError) -> SharedVault.Invitation {
    let master = try known.roster.roster.openMaster(with: options.machine).master
    return try await replaceRoster(after: known) { known throws(StorageError) in
      let before = known.roster.roster
      guard before.member(member.keys.id) == nil else { throw .memberExists }
      guard before.members.count < SharedFormat.mostMembers else { throw .tooManyMembers }
      let admins = before.admins + (member.isAdmin ? [member.keys.signing] : [])
      guard admins.count <= SharedFormat.mostAdmins else { throw .tooManyAdmins }
      return (admins, before.members + [try self.member(member, master, known.keys)])
    }
  }

  /// Commits a roster with other admins or members; makes it again when another machine was faster.
  func replaceRoster(
    after known: KnownVault,
    _ change: (KnownVault) throws(StorageError) -> (admins: [[UInt8]], members: [Member])
  ) async throws(StorageError) -> SharedVault.Invitation {
    var known = known
    let end = options.elapsed() + options.deadline
    for attempt in 0... {
      do throws(StorageError) { known = try await changes(after: known).last } catch {
        throw error.unchanged
      }
      let before = known.roster.roster
      let index = try adminIndex(in: before)
      let (admins, members) = try change(known)
      let roster = Roster(
        known.keys, number: before.number + 1, before: known.roster.digest, time: options.now(),
        admins: admins, members: members
      ).encoded(signedBy: key, index: UInt32(index))
      let verified = try VerifiedRoster(verifying: roster, after: known.roster)
      if let head = try await commit(roster, verified, after: known) {
        return SharedVault.Invitation(
          vault: before.vault, admin: key.publicKey, roster: verified.roster.number, head: head)
      }
      guard options.elapsed() < end else { break }
      await options.backOff(before: attempt)
    }
    throw .othersChange
  }

  /// Returns the index of the admin's key; throws `denied` if the key or this machine may not change
  /// the roster.
  func adminIndex(in roster: Roster) throws(StorageError) -> Int {
    guard let index = roster.admins.firstIndex(of: key.publicKey) else { throw .otherAdmin }
    guard roster.member(options.machine.id)?.isWriter(at: options.now()) == true else {
      throw .readerAdmin
    }
    return index
  }

  /// Commits a roster and its head; returns `nil` if another change was made instead.
  private func commit(
    _ roster: [UInt8], _ verified: VerifiedRoster, after known: KnownVault
  ) async throws(StorageError) -> HeadPoint? {
    var next = head(.roster, after: known)
    next.roster = verified.digest
    let generation = known.keys.generation
    let head = known.keys.encode(next, signedBy: options.machine, nonce: options.random(24))
    let point = try known.keys.verifyNextHead(
      head, after: known.head, in: [known.roster, verified]
    ).point
    let commit = Commit(
      expected: Commit.ExpectedHead(generation: generation, bytes: known.headRecord),
      puts: [
        .roster(number: verified.roster.number): roster, .head(generation: generation): head,
        .logEntry(generation: generation, sequence: next.sequence): head,
      ])
    var isLost = false
    try await settle(commit) { () throws(StorageError) in
      var chain = HeadChain(after: known, copy: nil)
      try await cluster.readLog(&chain)
      if chain.contains(head) { return true }
      isLost = chain.beginsGeneration || chain.last.headRecord != known.headRecord
      return isLost
    }
    return isLost ? nil : point
  }

  /// Sends a commit until the records show that it was made, or that it never will be.
  ///
  /// Sending it again does no harm, because it expects a head that exists only once. After a loss of changes,
  /// `beginGeneration(from:)` can make one head the newest again.
  ///
  /// - Parameter isSettled: reads the records.
  func settle(
    _ commit: Commit, isSettled: () async throws(StorageError) -> Bool
  ) async throws(StorageError) {
    let end = options.elapsed() + options.deadline
    for attempt in 0... {
      var problem = StorageError.noAnswer
      do throws(StorageError) { _ = try await cluster.commit(commit) } catch {
        if attempt == 0, error.outcome == .unchanged {
          if (try? await isSettled()) == true { return }
          // A cluster may lie, and no record can show that the change will not be made later.
          throw error.notSettled
        }
        problem = error
      }
      do throws(StorageError) { if try await isSettled() { return } } catch {
        guard error.code == .unavailable || error.code == .busy else { throw error.notSettled }
        problem = error
      }
      guard options.elapsed() < end, !Task.isCancelled else {
        throw problem.notSettled
      }
      await options.backOff(before: attempt)
    }
  }

  func changes(after known: KnownVault) async throws(StorageError) -> HeadChain {
    try await cluster.verifiedChanges(after: known, for: options.machine)
  }

  private func member(
    _ new: NewMember, _ master: GuardedKey, _ keys: GenerationKeys
  ) throws(StorageError) -> Member {
    try Member(
      new.keys, new.role, name: new.name, added: options.now(), wrapping: master, of: keys,
      nonce: options.random(24))
  }

  // An id has as many bytes as are taken.
  func newID() -> RecordID { RecordID(options.random(RecordID.size))! }
}

extension StorageError {
  /// The same error for a change of the vault that may have been made.
  fileprivate var notSettled: StorageError {
    var error = self
    // The error of a read or of a later try can say that nothing was changed.
    error.hint = "`kistd vault members` lists the machines of the vault"
    error.outcome = .unknown
    return error
  }

  /// Another vault is in the cluster.
  static let vaultExists = refused(
    "the cluster has a vault already", as: .denied,
    hint: "join it; or name the socket of another cluster with --cluster")
  fileprivate static let memberExists = refused(
    "the machine is a member of the vault already",
    hint: "run `kistd vault join LINE` on it, with the newest line that was printed for this vault")
  fileprivate static let tooManyMembers = refused(
    "the vault has \(SharedFormat.mostMembers) machines, which is the limit")
  fileprivate static let tooManyAdmins = refused(
    "the vault has \(SharedFormat.mostAdmins) admin and recovery keys, which is the limit",
    hint: "remove a recovery key with `kistd vault remove ID`")
  fileprivate static let otherAdmin = refused(
    "this admin key is not one of this vault", as: .denied,
    hint: "use the vault's newest admin key, or a recovery key that was not removed")
  fileprivate static let readerAdmin = refused(
    "this machine may only read the vault, so it cannot change the list of machines", as: .denied,
    hint: "run the command on a machine that is a writer")
  static let othersChange = StorageError(
    .busy, "other machines changed the vault all the time",
    hint: "try again; no machine and no key was changed", outcome: .unchanged)
}
