import KistCluster
import KistCore
import KistShared
import KistSodium
import KistVault
import Synchronization

/// A request of one machine, and the commits that the cluster made for it.
final class Operation: Sendable {
  let key: CredentialKey
  /// The sequences of its changes of credentials.
  let made = Mutex<[UInt64]>([])
  init(_ key: CredentialKey) { self.key = key }
}

/// All changes that a cluster made, as the cluster saw them.
///
/// It knows the keys, so it knows the secret of each revision.
final class History: Sendable {
  struct Change: Sendable {
    let sequence: UInt64
    let key: CredentialKey?
    /// The saved secret; `nil` if the credential was deleted.
    let secret: Secret?
    let step: Int
    let time: Duration
  }

  /// A new key of the vault.
  struct Generation: Sendable {
    let keys: GenerationKeys
    /// The number of the change that began it.
    let sequence: UInt64
    /// The machines that have the key.
    let members: Set<RecordID>
    /// The numbers of the last changes of all credentials, in the order of their keys.
    let sequences: [UInt64]
    /// The life in which it was made; `nil` for the first one.
    let life: Life?
  }

  static let names = (0..<3).map { CredentialKey(service: "service", account: "\($0)") }
  /// A member that is never removed and has no machine; it opens the keys of all generations.
  static let witness = TestVault.machine(4)

  private let scheduler: Scheduler
  private let changes = Mutex<[Change]>([])
  private let begun: Mutex<[Generation]>
  /// The lives in which machines were added.
  let additions = Mutex<[Life]>([])

  init(_ vault: TestVault, _ scheduler: Scheduler) {
    self.scheduler = scheduler
    let members = vault.roster.roster.members.map(\.keys.id)
    begun = Mutex([
      Generation(keys: vault.keys, sequence: 0, members: Set(members), sequences: [], life: nil)
    ])
  }

  /// All generations, in the order in which they began.
  var generations: [Generation] { begun.withLock(\.self) }

  /// Records a commit that was made.
  func record(_ commit: Commit, of operation: Operation?, in life: Life) throws {
    var entry: (generation: UInt32, sequence: UInt64)?
    for case .logEntry(let generation, let number) in commit.puts.keys {
      entry = (generation, number)
    }
    guard let entry else { return }
    for case (.roster, let record) in commit.puts {
      try recordRoster(record, at: entry.sequence, in: life)
    }
    let keys = generations.first { $0.keys.generation == entry.generation }!.keys
    let names = Dictionary(
      uniqueKeysWithValues: Self.names.map { (RecordID(keys.store.tag(of: $0).key), $0) })
    var (key, secret) = (nil as CredentialKey?, nil as Secret?)
    for case .row(_, let tag) in commit.deletes { key = names[tag] }
    for case (.row(_, let tag), let record) in commit.puts {
      key = names[tag]
      let row = try keys.openRow(record, key: tag)
      secret = try keys.store.openCredential(
        row.metadata.span, row.secret.span, as: row.identity, foundBy: names[tag]!, in: Epoch(9)
      ).secret
    }
    let change = Change(
      sequence: entry.sequence, key: key, secret: secret, step: scheduler.step,
      time: scheduler.time)
    changes.withLock { $0.append(change) }
    if key != nil { operation?.made.withLock { $0.append(entry.sequence) } }
  }

  private func recordRoster(_ record: [UInt8], at sequence: UInt64, in life: Life) throws {
    let roster = try VerifiedRoster(
      verifying: record, of: TestVault.id, signedBy: TestVault.admin.publicKey
    ).roster
    guard roster.generation != generations.last!.keys.generation else {
      return additions.withLock { $0.append(life) }
    }
    let (_, keys) = try roster.openMaster(with: Self.witness)
    let sequences = Self.names.compactMap { key in
      let last = self.sequences(of: key, from: .max, to: .max).first!
      return last == 0 ? nil : last
    }
    let generation = Generation(
      keys: keys, sequence: sequence, members: Set(roster.members.map(\.keys.id)),
      sequences: sequences, life: life)
    begun.withLock { $0.append(generation) }
  }

  /// All changes, in the order in which they were made.
  var all: [Change] { changes.withLock(\.self) }

  func secret(of key: CredentialKey, at sequence: UInt64) -> Secret? {
    all.first { $0.sequence == sequence && $0.key == key }?.secret
  }

  /// Returns the sequences that a credential had between two steps; 0 for an absent one.
  func sequences(of key: CredentialKey, from first: Int, to last: Int) -> Set<UInt64> {
    sequences(of: key) {
      $0.step <= first
    } until: {
      $0.step <= last
    }
  }

  /// Returns the sequences that a credential had since a time.
  func sequences(of key: CredentialKey, since time: Duration) -> Set<UInt64> {
    sequences(of: key) {
      $0.time < time
    } until: { _ in
      true
    }
  }

  private func sequences(
    of key: CredentialKey, _ before: (Change) -> Bool, until: (Change) -> Bool
  ) -> Set<UInt64> {
    let changes = all.filter { $0.key == key }
    var found: Set<UInt64> = []
    let start = changes.last(where: before)
    found.insert(start?.secret == nil ? 0 : start!.sequence)
    for change in changes where !before(change) && until(change) {
      found.insert(change.secret == nil ? 0 : change.sequence)
    }
    return found
  }
}
