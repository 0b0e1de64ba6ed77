import KistCluster
import KistCore
import KistShared
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

  static let names = (0..<3).map { CredentialKey(service: "service", account: "\($0)") }

  let keys: GenerationKeys
  private let scheduler: Scheduler
  private let changes = Mutex<[Change]>([])
  private let names: [RecordID: CredentialKey]

  init(_ keys: GenerationKeys, _ scheduler: Scheduler) {
    (self.keys, self.scheduler) = (keys, scheduler)
    let tags = Self.names.map { (RecordID(keys.store.tag(of: $0).key), $0) }
    names = Dictionary(uniqueKeysWithValues: tags)
  }

  /// Records a commit that was made.
  func record(_ commit: Commit, of operation: Operation?) throws {
    var (sequence, key, secret) = (nil as UInt64?, nil as CredentialKey?, nil as Secret?)
    for case .row(_, let tag) in commit.deletes { key = names[tag] }
    for (name, record) in commit.puts {
      switch name {
      case .logEntry(_, let number): sequence = number
      case .row(_, let tag):
        key = names[tag]
        let row = try keys.openRow(record, key: tag)
        secret = try keys.store.openCredential(
          row.metadata.span, row.secret.span, as: row.identity, foundBy: names[tag]!, in: Epoch(9)
        ).secret
      default: break
      }
    }
    guard let sequence else { return }
    let change = Change(
      sequence: sequence, key: key, secret: secret, step: scheduler.step, time: scheduler.time)
    changes.withLock { $0.append(change) }
    if key != nil { operation?.made.withLock { $0.append(sequence) } }
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
