import Foundation
import KistCluster
import KistCore
import KistFile
import KistReplica
import KistShared
import KistSodium
import KistTesting
import KistVault
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A new key of a shared vault` {
  private let directory = try! TemporaryDirectory()

  private func note(_ machine: Int) throws -> [UInt8] {
    try #require(try EncryptedFile.note(ofCopy: TestVault.file(machine, in: directory).path))
  }

  private func admin(_ vault: TestVault, on cluster: Cluster? = nil) -> VaultAdmin {
    VaultAdmin(TestVault.admin, on: cluster ?? vault.engine.cluster, TestVault.options(1))
  }

  /// Opens the copy of a machine, with the new key of the vault.
  private func renew(_ machine: Int, of vault: TestVault) async throws -> SharedVault {
    let renewal = try #require(
      try await SharedVault.renewal(
        after: note(machine), on: vault.engine.cluster, TestVault.options(machine)))
    try await EncryptedFile.replaceCopy(
      TestVault.file(machine, in: directory),
      with: .init(
        master: renewal.master, storeID: renewal.storeID, epoch: renewal.content.state.epoch),
      renewal.content, note: renewal.note)
    return try await vault.open(machine, in: directory)
  }

  @Test func `opens everything for the remaining machines, and nothing for a removed one`()
    async throws
  {
    let vault = try await TestVault()
    let began = Mutex(0)
    var options = TestVault.options(1)
    options.whenGenerationBegins = { began.withLock { $0 += 1 } }
    let first = try await vault.join(1, in: directory, options: options)
    let removed = try await vault.join(2, in: directory)
    let saved = try await first.credentials.save(.sample(secret: "one"))
    let listed = try await admin(vault).beginGeneration(
      without: TestVault.machine(2).id, note: note(1))
    #expect(listed.map(\.key) == [.sample] && listed.map(\.revision) == [saved.revision])
    // The copies with the old key still load, and no change is lost.
    let busy = await expect(.busy) { try await first.credentials.save(.sample(secret: "two")) }
    #expect(busy?.outcome == .unchanged)
    #expect(began.withLock(\.self) > 0)
    #expect(try await first.credentials.load(.sample).secret == Secret(utf8: "one"))
    await expect(.denied) { try await removed.refresh() }
    for machine in [first, removed] { await machine.close() }
    await expect(.denied) {
      try await SharedVault.renewal(
        after: note(2), on: vault.engine.cluster, TestVault.options(2))
    }
    let renewed = try await renew(1, of: vault)
    let loaded = try await renewed.credentials.load(LoadRequest(key: .sample, maxStale: 0))
    #expect(loaded.secret == Secret(utf8: "one") && loaded.summary == saved)
    let second = try await renewed.credentials.save(.sample(secret: "two"))
    #expect(second.revision.rawValue.hasSuffix(".3"))
    let status = renewed.status()
    #expect(status.generation == 2 && status.members == 3 && status.revision == status.head)
    let old = try await vault.engine.cluster.head(1)
    #expect(old.head == nil)
    await renewed.close()
  }

  @Test func `includes what other machines change meanwhile`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let other = try await vault.join(3, in: directory)
    for number in 1...5 {
      try await first.credentials.save(
        NewCredential(key: CredentialKey(service: "\(number)"), secret: Secret(utf8: "old")))
    }
    let changes = Mutex(0)
    let cluster = vault.committing { commit throws(StorageError) in
      let isLast = commit.puts.keys.contains(.roster(number: 2))
      let number = changes.withLock { changes in
        if isLast { changes += 1 }
        return changes
      }
      if isLast, number == 1 {
        _ = try await other.credentials.delete(CredentialKey(service: "1"))
        _ = try await other.credentials.save(
          NewCredential(key: CredentialKey(service: "2"), secret: Secret(utf8: "new")))
      }
      return try await vault.engine.cluster.commit(commit)
    }
    let listed = try await admin(vault, on: cluster).beginGeneration(without: nil, note: note(1))
    #expect(listed.map(\.key.service) == ["2", "3", "4", "5"])
    #expect(changes.withLock(\.self) == 2)
    for machine in [first, other] { await machine.close() }
    let renewed = try await renew(1, of: vault)
    #expect(
      try await renewed.credentials.load(CredentialKey(service: "2")).secret == Secret(utf8: "new"))
    #expect(renewed.status().count == 4)
    await renewed.close()
  }

  @Test(arguments: [true, false])
  func `is made once, also if the cluster loses answers`(isMade: Bool) async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    try await first.credentials.save(.sample())
    await first.close()
    let count = Mutex(0)
    let cluster = vault.committing { commit throws(StorageError) in
      let number = count.withLock { count in
        count += 1
        return count
      }
      guard number % 2 == 1 else { return try await vault.engine.cluster.commit(commit) }
      if isMade { _ = try await vault.engine.cluster.commit(commit) }
      throw .noAnswer
    }
    _ = try await admin(vault, on: cluster).beginGeneration(without: nil, note: note(1))
    let renewed = try await renew(1, of: vault)
    #expect(renewed.status().generation == 2 && renewed.status().roster == 2)
    #expect(try await renewed.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await renewed.close()
  }

  @Test func `can follow another one that a machine has missed`() async throws {
    let vault = try await TestVault()
    for machine in [1, 3] { await (try await vault.join(machine, in: directory)).close() }
    for generation in 2...3 as ClosedRange<UInt32> {
      _ = try await admin(vault).beginGeneration(without: nil, note: note(1))
      let first = try await renew(1, of: vault)
      try await first.credentials.save(.sample(secret: "\(generation)"))
      await first.close()
    }
    let renewed = try await renew(3, of: vault)
    #expect(renewed.status().generation == 3)
    #expect(try await renewed.credentials.load(.sample).secret == Secret(utf8: "3"))
    await renewed.close()
  }

  @Test func `is refused for this machine, for a stranger, and with another admin key`()
    async throws
  {
    let vault = try await TestVault()
    await (try await vault.join(1, in: directory)).close()
    let head = try await vault.engine.cluster.head(1)
    for removed in [1, 5] {
      let error = await expect(.badRequest) {
        try await admin(vault).beginGeneration(
          without: TestVault.machine(removed).id, note: note(1))
      }
      #expect(error?.outcome == .unchanged)
    }
    await expect(.denied) {
      try await VaultAdmin(
        SigningKey(seed: key(0xAE)), on: vault.engine.cluster, TestVault.options(1)
      ).beginGeneration(without: nil, note: note(1))
    }
    #expect(try await vault.engine.cluster.head(1) == head)
  }
}
