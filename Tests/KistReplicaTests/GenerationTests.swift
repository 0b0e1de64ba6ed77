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

@testable import KistSimulation

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
    let renewal = try #require(try await vault.renewal(of: machine, in: directory))
    try await EncryptedFile.replaceCopy(
      TestVault.file(machine, in: directory),
      with: .init(
        master: renewal.master, storeID: renewal.storeID, epoch: renewal.epoch),
      renewal.content, note: renewal.note)
    return try await vault.open(machine, in: directory)
  }

  @Test func `opens everything for the remaining machines, and nothing for a removed one`()
    async throws
  {
    let vault = try await TestVault()
    let began = Mutex(0)
    var options = TestVault.options(1)
    options.whenGenerationBegins = { _ in began.withLock { $0 += 1 } }
    let first = try await vault.join(1, in: directory, options: options)
    let removed = try await vault.join(2, in: directory)
    let changes = try await first.watch.begin(WatchRequest()).makeAsyncIterator()
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
    #expect(try await changes.next() == .saved(.sample, saved.revision))
    let ended = await expect(.unavailable) { try await changes.next() }
    #expect(ended?.message.contains("new key") == true)
    await expect(.denied) { try await vault.renewal(of: 2, in: directory) }
    let renewed = try await renew(1, of: vault)
    let loaded = try await renewed.credentials.load(LoadRequest(key: .sample, maxStale: 0))
    #expect(loaded.secret == Secret(utf8: "one") && loaded.summary == saved)
    let second = try await renewed.credentials.save(.sample(secret: "two"))
    // The announcement, a pause and the new generation have the numbers 2 to 4.
    #expect(second.revision.rawValue.hasSuffix(".5"))
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

  @Test(arguments: [true, false])
  func `has the newest rows, although an older commit is made late`(isOfOtherAttempt: Bool)
    async throws
  {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let other = try await vault.join(3, in: directory)
    try await first.credentials.save(.sample(secret: "old"))
    let late = Mutex<[Commit]>([])
    let isMeanwhile = Atomic(false)
    let cluster = vault.committing { commit throws(StorageError) in
      if commit.puts.keys.contains(.roster(number: 2)) {
        if !isMeanwhile.exchange(true, ordering: .relaxed) {
          if isOfOtherAttempt {
            // The other attempt ends here.
            throw StorageError(.denied, "interrupted", outcome: .unchanged)
          }
          _ = try await other.credentials.save(.sample(secret: "new"))
        }
        for commit in late.withLock(\.self) { _ = try await vault.engine.cluster.commit(commit) }
      } else if commit.expected != nil {
        late.withLock { $0.append(commit) }
      }
      return try await vault.engine.cluster.commit(commit)
    }
    if isOfOtherAttempt {
      await expect(.denied) {
        try await admin(vault, on: cluster).beginGeneration(without: nil, note: note(1))
      }
    }
    _ = try await admin(vault, on: cluster).beginGeneration(without: nil, note: note(1))
    for machine in [first, other] { await machine.close() }
    let renewed = try await renew(1, of: vault)
    let secret = Secret(utf8: isOfOtherAttempt ? "old" : "new")
    #expect(try await renewed.credentials.load(.sample).secret == secret)
    await renewed.close()
  }

  @Test func `has all rows, although another admin begins one at the same time`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    try await first.credentials.save(.sample(secret: "one"))
    await first.close()
    let isFirst = Atomic(true)
    let cluster = vault.committing { commit throws(StorageError) in
      if commit.puts.keys.contains(.roster(number: 2)),
        isFirst.exchange(false, ordering: .relaxed)
      {
        // This one ends before its last commit, and must not touch the rows of the other.
        var interrupted = vault.engine.cluster
        interrupted.commit = { commit throws(StorageError) in
          guard !commit.puts.keys.contains(.roster(number: 2)) else {
            throw StorageError(.denied, "interrupted", outcome: .unchanged)
          }
          return try await vault.engine.cluster.commit(commit)
        }
        _ = try? await admin(vault, on: interrupted).beginGeneration(
          without: nil, note: try? note(1))
      }
      return try await vault.engine.cluster.commit(commit)
    }
    _ = try await admin(vault, on: cluster).beginGeneration(without: nil, note: note(1))
    let renewed = try await renew(1, of: vault)
    #expect(try await renewed.credentials.load(.sample).secret == Secret(utf8: "one"))
    await renewed.close()
  }

  @Test func `is made although another machine saves all the time`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let saves = Atomic(0)
    var cluster = vault.engine.cluster
    cluster.list = { request throws(StorageError) in
      let reply = try await vault.engine.cluster.list(request)
      // A save after the head was read, and before all rows were.
      if request.firstByte == 7, saves.add(1, ordering: .relaxed).newValue <= 20 {
        _ = try await first.credentials.save(.sample(secret: "new"))
      }
      return reply
    }
    let listed = try await admin(vault, on: cluster).beginGeneration(without: nil, note: note(1))
    #expect(listed.count == 1 && saves.load(ordering: .relaxed) < 3)
    await first.close()
  }

  @Test func `has an unknown outcome if the cluster goes away before it answers`() async throws {
    let vault = try await TestVault()
    await (try await vault.join(1, in: directory)).close()
    let time = ManualTime()
    let isGone = Atomic(false)
    var cluster = vault.committing { commit throws(StorageError) in
      if isGone.load(ordering: .relaxed) { return try await Cluster.unreachable.commit(commit) }
      guard commit.puts.keys.contains(.roster(number: 2)) else {
        return try await vault.engine.cluster.commit(commit)
      }
      isGone.store(true, ordering: .relaxed)
      throw .noAnswer
    }
    cluster.records = { names throws(StorageError) in
      try await (isGone.load(ordering: .relaxed) ? .unreachable : vault.engine.cluster)
        .records(names)
    }
    let error = await expect(.unavailable) {
      try await VaultAdmin(TestVault.admin, on: cluster, time.options(1))
        .beginGeneration(without: nil, note: note(1))
    }
    #expect(error?.outcome == .unknown)
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
