import KistCluster
import KistCore
import KistReplica
import KistShared
import KistTesting
import Synchronization

/// An admin, who signs rosters with the same members.
final class Admin: Sendable {
  private let vault: TestVault
  private let network: Network
  private let newest: Mutex<VerifiedRoster>

  init(_ vault: TestVault, _ network: Network) {
    (self.vault, self.network) = (vault, network)
    newest = Mutex(vault.roster)
  }

  /// Commits the next roster, unless a machine changes the vault meanwhile.
  func addRoster() async {
    let (cluster, keys, before) = (vault.engine.cluster, vault.keys, newest.withLock(\.self))
    guard let record = try? await cluster.head(1).head,
      let head = try? keys.verifyHead(record, in: before, notBefore: vault.invitation.head)
    else { return }
    let roster = Roster(
      keys, number: before.roster.number + 1, before: before.digest, time: .sample,
      admins: before.roster.admins, members: before.roster.members
    ).encoded(signedBy: TestVault.admin, index: 0)
    guard let verified = try? VerifiedRoster(verifying: roster, after: before) else { return }
    var next = head.head
    next.sequence += 1
    (next.before, next.change, next.roster) = (head.digest, .roster, verified.digest)
    let bytes = keys.encode(next, signedBy: TestVault.machine(1), nonce: nonce())
    let commit = Commit(
      expected: Commit.ExpectedHead(generation: 1, bytes: record),
      puts: [
        .roster(number: verified.roster.number): roster, .head(generation: 1): bytes,
        .logEntry(generation: 1, sequence: next.sequence): bytes,
      ])
    guard case .committed = try? await cluster.commit(commit) else { return }
    try? network.history.record(commit, of: nil)
    newest.withLock { $0 = verified }
  }
}
