import KistCluster
import KistCore
import KistFile
import KistReplica
import KistShared
import KistTesting
import KistVault
import Testing

@testable import KistSimulation

@Suite(.timeLimit(.minutes(5))) struct `A machine that joins a shared vault` {
  private let directory = try! TemporaryDirectory()

  @Test(arguments: [1, 2])
  func `does not replace its copy of another history`(changes: Int) async throws {
    let vault = try await TestVault()
    let fork = vault.engine.forked()
    let machine = try await vault.join(1, in: directory)
    try await machine.credentials.save(.sample(secret: "one"))
    await machine.close()
    let other = try await vault.join(2, in: directory, on: fork.cluster)
    for number in 0..<changes { try await other.credentials.save(.sample(secret: "\(number)")) }
    await expect(.corrupt) { try await vault.join(1, in: directory, on: fork.cluster) }
    let again = try await vault.open(1, in: directory)
    #expect(try await again.credentials.load(.sample).secret == Secret(utf8: "one"))
    for machine in [again, other] { await machine.close() }
  }

  @Test func `accepts its copy of the same state`() async throws {
    let vault = try await TestVault()
    let machine = try await vault.join(1, in: directory)
    try await machine.credentials.save(.sample(secret: "one"))
    await machine.close()
    let again = try await vault.join(1, in: directory)
    #expect(try await again.credentials.load(.sample).secret == Secret(utf8: "one"))
    await again.close()
  }

  @Test func `completes its copy after a crash while it joined`() async throws {
    let vault = try await TestVault()
    let other = try await vault.join(2, in: directory)
    try await other.credentials.save(.sample(secret: "one"))
    let (disk, options) = (Disk(), TestVault.options(1))
    await expect(.full) {
      try await SharedVault.join(vault.invitation, on: vault.engine.cluster, options) {
        master, storeID, epoch throws(StorageError) in
        try disk.makeCopy(master, storeID, epoch)
        return disk.copy(in: Life()) { () throws(StorageError) in
          throw StorageError(.full, "no space")
        }
      }
    }
    let again = try await SharedVault.open(
      disk.copy(in: Life()) {}, on: vault.engine.cluster, options)
    #expect(again.status().problem?.code == .corrupt && again.status().count == 0)
    #expect(try await again.credentials.load(.sample).secret == Secret(utf8: "one"))
    for machine in [again, other] { await machine.close() }
  }

  @Test func `refuses a roster that is stored under the number of another one`() async throws {
    let vault = try await TestVault()
    let (keys, master) = (vault.keys, vault.master)
    let second = Roster(
      keys, number: 2, before: vault.roster.digest, time: .sample,
      admins: vault.roster.roster.admins,
      members: try (1...4).map { try TestVault.member($0, keys, master) }
    ).encoded(signedBy: TestVault.admin, index: 0)
    let old = try #require(try await vault.engine.cluster.head(1).head)
    let head = keys.encode(
      Head(
        sequence: 1, count: 0, epoch: Epoch(9), sum: .zero, roster: Digest(of: second),
        before: Digest(of: old), time: .sample,
        operation: RecordID([UInt8](repeating: 3, count: 16))!, change: .roster),
      signedBy: TestVault.machine(1), nonce: nonce())
    _ = try await vault.engine.cluster.commit(
      Commit(
        expected: Commit.ExpectedHead(generation: 1, bytes: old),
        puts: [
          .roster(number: 2): second, .head(generation: 1): head,
          .logEntry(generation: 1, sequence: 1): head,
        ]))
    let cluster = vault.engine.cluster.altering { name, bytes in
      switch name {
      case .roster(number: 1): second
      case .roster: nil
      default: bytes
      }
    }
    await expect(.corrupt) { try await vault.join(1, in: directory, on: cluster) }
    await (try await vault.join(1, in: directory)).close()
  }
}
