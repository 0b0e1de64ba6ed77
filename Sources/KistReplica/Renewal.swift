package import KistCluster
package import KistCore
internal import KistShared
package import KistSodium
package import KistVault
internal import Synchronization

extension SharedVault {
  /// A vault after it got a new key: everything for a new copy, and for the note beside it.
  package struct Renewal: Sendable {
    /// The new key.
    package let master: GuardedKey
    /// The store id of the new key: 16 bytes.
    package let storeID: [UInt8]
    /// The random prefix of all revisions.
    package let epoch: Epoch
    /// All rows, and the state that they lead to; `nil` if the copy that was made ahead has them.
    package let content: CopyChange?
    /// The note to write beside the copy.
    package let note: [UInt8]
  }

  /// Reads the vault with its newest key; returns `nil` if this machine has that key already.
  ///
  /// Throws `denied` if this machine was removed from the vault, and `corrupt` if its copy has changes that
  /// the cluster does not have.
  ///
  /// - Parameters:
  ///   - note: the note beside the copy on this machine.
  ///   - copied: returns the state of the copy with a store id; `nil` if there is none. It is called only if
  ///     there is a new key.
  package static func renewal(
    after note: [UInt8]?, on cluster: Cluster, _ options: ReplicaOptions,
    copied: (_ storeID: [UInt8]) async throws(StorageError) -> VaultState?
  ) async throws(StorageError) -> Renewal? {
    let known = try KnownVault(noted: note, by: options.machine)
    var chain = HeadChain(after: known, copy: nil)
    try await cluster.readLog(&chain)
    guard chain.beginsGeneration else { return nil }
    chain = HeadChain(after: known, copy: try await copied(known.keys.store.storeID))
    try await cluster.readLog(&chain)
    for attempt in 0..<mostAttempts {
      var beginning: Beginning?
      while chain.beginsGeneration {
        let next = try await cluster.beginning(after: &chain, for: options.machine)
        chain = HeadChain(after: next.known, copy: nil)
        try await cluster.readLog(&chain)
        beginning = next
      }
      let asOf = options.now()
      let reading = try await cluster.head(chain.last.keys.generation)
      if reading.head == chain.last.headRecord {
        let (last, keys) = (chain.last, chain.last.keys)
        let rows = try await cluster.rows(of: keys, last.head, at: reading.position)
        let master =
          if let beginning { beginning.master } else {
            try last.roster.roster.openMaster(with: options.machine).master
          }
        return Renewal(
          master: master, storeID: keys.store.storeID, epoch: last.state.epoch,
          content: CopyChange(rows: rows.mapValues { .some($0) }, state: last.state),
          note: last.note(asOf: asOf).encoded(signedBy: options.machine))
      }
      // Another change was made meanwhile.
      await options.backOff(before: attempt)
      try await cluster.readLog(&chain)
    }
    throw .keepsChanging
  }
}

/// The first state of a generation, and its key.
struct Beginning {
  let known: KnownVault
  let master: GuardedKey
}

extension Cluster {
  /// Reads and verifies the first head of the generation after a chain.
  ///
  /// Throws `denied` if the machine is not a member of that generation, and `corrupt` if its copy has
  /// changes that are not in the chain. They would be lost with the copy.
  func beginning(
    after chain: inout HeadChain, for machine: MachineIdentity,
    _ see: (VerifiedHead) -> Void = { _ in }
  ) async throws(StorageError) -> Beginning {
    guard let next = chain.rosterOfNextGeneration else {
      throw .internal("the vault has no other generation")
    }
    // The log of a generation is complete once the roster of the next one exists.
    try await readLog(&chain, see)
    let (master, keys) = try next.roster.roster.openMaster(with: machine)
    if let copy = chain.copy {
      do throws(StorageError) { _ = try chain.split(at: copy) } catch { throw .changesAreMissing }
    }
    let sequence = chain.last.head.head.sequence + 1
    let record = try await read(.logEntry(generation: keys.generation, sequence: sequence))
    guard let record else {
      throw .changesAreMissing
    }
    let head = try keys.verifyNextHead(
      record, after: chain.last.head, in: [chain.last.roster, next.roster])
    let known = KnownVault(
      keys: keys, rosterRecord: next.record, roster: next.roster, headRecord: record, head: head)
    return Beginning(known: known, master: master)
  }
}

extension StorageError {
  static let changesAreMissing = StorageError(
    .corrupt, "the vault has a new key, but the cluster does not have all changes before it",
    hint:
      "if an admin made this key with `kistd vault rotate --from-copy`, join again with the line that it "
      + "printed; otherwise, compare the status of the other machines; nothing was changed, and the copy on "
      + "this machine is intact: back it up with `kist backup`")
}
