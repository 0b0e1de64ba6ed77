package import KistCluster
package import KistCore
package import KistShared
package import KistSodium
package import KistVault
private import Synchronization

/// A vault that several machines share, open on this machine.
///
/// It loads and finds in its copy, also while the cluster cannot be reached. Every change is one commit
/// to the cluster. Each call of the cluster must end by itself, for example after a deadline: the
/// next change and the next confirmation of the head wait for it.
package struct SharedVault: Sendable {
  /// The credentials.
  package var credentials: UserStorage
  /// The changes of credentials by all machines.
  ///
  /// Changes of other machines are reported when this one reads them: `follow` does that at once.
  package var watch: WatchCredentials
  /// The backups of the copy.
  package var backups: Backups
  /// Reads the head of the vault, and waits until the copy has it.
  package var refresh: @Sendable () async throws(StorageError) -> Void
  /// Keeps the copy up to date until its task is cancelled, or soon after the vault is closed.
  package var follow: @Sendable () async -> Void
  /// Returns what is known of the cluster.
  package var status: @Sendable () -> Status
  /// Waits for running changes, and closes the copy.
  package var close: @Sendable () async -> Void

  /// What this machine knows of a vault.
  package struct Status: Equatable, Sendable {
    /// The number of the newest generation.
    package var generation: UInt32
    /// The number of the roster.
    package var roster: UInt64
    /// The revision of the last change in the copy.
    package var revision: Revision
    /// The number of credentials in the copy.
    package var count: UInt64
    /// The number of machines.
    package var members: Int
    /// The revision of the last change that was verified, or is in the copy.
    ///
    /// After a crash, the copy can have changes that its note does not have.
    package var head: Revision
    /// When the head was last confirmed.
    package var asOf: Timestamp
    /// Why the head could not be confirmed, or what is wrong with the copy.
    package var problem: StorageError?
    /// What the user should know of the clocks, the adapter and the cluster.
    package var warnings: [String]

    /// Whether the copy has all changes up to the last one that was verified.
    package var isCopyComplete: Bool { head.isLater(than: revision) == false }
  }

  /// What an admin gives to a new machine; it has no secret.
  package struct Invitation: Hashable, Sendable {
    /// The id of the vault.
    package var vault: RecordID
    /// The public key of the admin who signed the roster.
    package var admin: [UInt8]
    /// The number of a roster.
    package var roster: UInt64
    /// A head of the vault.
    package var head: HeadPoint

    package init(vault: RecordID, admin: [UInt8], roster: UInt64, head: HeadPoint) {
      (self.vault, self.admin, self.roster, self.head) = (vault, admin, roster, head)
    }
  }

  /// Opens a vault whose copy is on this machine; does not need the cluster.
  ///
  /// Throws `corrupt` if the note beside the copy is missing or was not written by this machine.
  package static func open(
    _ copy: LocalCopy, on cluster: Cluster, _ options: ReplicaOptions
  ) async throws(StorageError) -> SharedVault {
    let note = try VaultNote(required: try copy.note(), signedBy: options.machine)
    let known = try KnownVault(note, of: options.machine)
    return SharedVault(
      try await Replica(known, asOf: note.asOf, copy: copy, on: cluster, options))
  }

  /// Makes the copy of a vault on this machine, and opens it.
  ///
  /// Throws `denied` if the machine is not a member, and `corrupt` if the cluster has another vault, or
  /// an older state of it than the invitation says. Throws `corrupt` also if the copy has credentials
  /// of another state of the vault; the copy then stays as it is.
  ///
  /// - Parameter makeCopy: opens the copy of a generation, or makes an empty one.
  package static func join(
    _ invitation: Invitation, on cluster: Cluster, _ options: ReplicaOptions,
    makeCopy: (
      _ master: GuardedKey, _ storeID: [UInt8], Epoch
    ) async throws(StorageError) -> LocalCopy
  ) async throws(StorageError) -> SharedVault {
    for attempt in 0... {
      do throws(StorageError) {
        let asOf = options.now()
        let (known, master, position) = try await known(invitation, on: cluster, options)
        let rows = try await cluster.rows(of: known.keys, known.head, at: position)
        let copy = try await makeCopy(
          master, known.keys.store.storeID, known.head.head.epoch)
        do throws(StorageError) {
          try await fill(copy, with: rows, known, asOf, options)
          return SharedVault(
            try await Replica(known, asOf: asOf, copy: copy, on: cluster, options))
        } catch {
          await copy.storage.close()
          throw error
        }
      } catch {
        // Compacted meanwhile.
        guard error.code == .busy, attempt < mostAttempts else { throw error }
      }
      await options.backOff(before: attempt)
    }
    throw .keepsChanging
  }

  /// Stores all rows in a new copy.
  private static func fill(
    _ copy: LocalCopy, with rows: [RowTag: SealedRow], _ known: KnownVault, _ asOf: Timestamp,
    _ options: ReplicaOptions
  ) async throws(StorageError) {
    let copied = try copy.state()
    // A new copy is empty. Another one could be of a history that the cluster does not have.
    guard copied.sequence == 0 || copied == known.state else { throw .anotherCopy }
    // Written first: after a crash, it shows that the copy is not complete.
    try copy.setNote(known.note(asOf: asOf).encoded(signedBy: options.machine))
    try await copy.apply(
      CopyChange(leaving: rows, instead: try await copy.tags(), state: known.state))
  }

  /// Throws `denied` if the cluster has a vault.
  package static func requireNone(on cluster: Cluster) async throws(StorageError) {
    // A vault that was put back into an empty cluster has no first roster. The first head alone does not
    // show a vault: a later generation has another one.
    let found = try await cluster.read([.roster(number: 1), .head(generation: 0)])
    guard found == [nil, nil] else { throw .vaultExists }
  }

  /// Reads and verifies the rosters from that of the invitation on, and the head.
  static func known(
    _ invitation: Invitation, on cluster: Cluster, _ options: ReplicaOptions
  ) async throws(StorageError) -> (KnownVault, GuardedKey, ClusterPosition) {
    var (number, found) = (invitation.roster, nil as (record: [UInt8], roster: VerifiedRoster)?)
    while let record = try await cluster.read(.roster(number: number)) {
      let roster =
        if let found { try VerifiedRoster(verifying: record, after: found.roster) } else {
          try VerifiedRoster(
            verifying: record, of: invitation.vault, signedBy: invitation.admin,
            notBefore: number)
        }
      guard roster.roster.number == number else { throw .otherNumber }
      found = (record, roster)
      number += 1
    }
    guard let found else {
      throw .rolledBack("the cluster does not have the roster of the invitation")
    }
    let (master, keys) = try found.roster.roster.openMaster(with: options.machine)
    let reading = try await cluster.head(keys.generation)
    guard let record = reading.head else {
      throw .rolledBack("the cluster does not have the head of the vault")
    }
    let head = try keys.verifyHead(record, in: found.roster, notBefore: invitation.head)
    let known = KnownVault(
      keys: keys, rosterRecord: found.record, roster: found.roster, headRecord: record, head: head)
    return (known, master, reading.position)
  }
}

extension SharedVault {
  init(_ replica: Replica) {
    let storage = UserStorage(
      save: replica.save, load: replica.load, delete: replica.delete, find: replica.find)
    self.init(
      credentials: storage.enforcingLimits(now: replica.options.now),
      watch: WatchCredentials(begin: replica.beginWatching),
      backups: replica.copy.storage.backups, refresh: replica.refresh, follow: replica.follow,
      status: replica.status, close: replica.close)
  }
}

extension Replica {
  fileprivate func status() -> SharedVault.Status {
    let (known, asOf, problem) = state.withLock { ($0.known, $0.asOf, $0.problem) }
    var (copied, failure) = (known.state, nil as StorageError?)
    do throws(StorageError) { copied = try copy.state() } catch { failure = error }
    return SharedVault.Status(
      generation: known.keys.generation, roster: known.roster.roster.number,
      revision: copied.revision, count: copied.count, members: known.roster.roster.members.count,
      head: copied.sequence > known.state.sequence ? copied.revision : known.state.revision,
      asOf: asOf, problem: problem ?? failure,
      warnings: warnings)
  }
}

extension StorageError {
  fileprivate static let anotherCopy = StorageError(
    .corrupt, "this machine has a copy of another state of the vault",
    hint: "nothing was changed; open that copy, or move it and its note away and join again")
  fileprivate static let otherNumber = untrusted(
    "the cluster stores a roster under the number of another one")
}
