import KistCluster
import KistCore
import KistFile
import KistReplica
import KistShared
import KistTesting
import KistVault
import Synchronization
import Testing

@testable import KistSimulation

@Suite(.timeLimit(.minutes(5))) struct `A machine with a shared vault` {
  private let directory = try! TemporaryDirectory()

  private func secret(_ machine: SharedVault, fresh: Bool = true) async throws -> Secret {
    try await machine.credentials.load(LoadRequest(key: .sample, maxStale: fresh ? 0 : nil)).secret
  }

  @Test func `loads what another one saved, and what was saved before it joined`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let saved = try await first.credentials.save(.sample(secret: "one"))
    let second = try await vault.join(2, in: directory)
    #expect(try await secret(second, fresh: false) == Secret(utf8: "one"))
    try await second.credentials.save(.sample(secret: "two"), if: .ifRevision(saved.revision))
    #expect(try await secret(first, fresh: false) == Secret(utf8: "one"))
    #expect(try await secret(first) == Secret(utf8: "two"))
    await expect(.conflict) {
      try await first.credentials.save(.sample(secret: "three"), if: .ifRevision(saved.revision))
    }
    for machine in [first, second] { await machine.close() }
  }

  @Test func `cannot change the vault as a reader`() async throws {
    let vault = try await TestVault()
    let reader = try await vault.join(4, in: directory)
    let error = await expect(.denied) { try await reader.credentials.save(.sample()) }
    #expect(error?.outcome == .unchanged)
    await reader.close()
  }

  @Test func `cannot join if it is not a member`() async throws {
    let vault = try await TestVault()
    await expect(.denied) { try await vault.join(5, in: directory) }
  }

  @Test func `does not join a vault that is older than its invitation`() async throws {
    let vault = try await TestVault()
    // The second vault finds the cluster taken, so its invitation names another head.
    let later = try await TestVault(on: vault.engine)
    await expect(.corrupt) { try await later.join(1, in: directory) }
  }

  @Test(arguments: [Cluster.Loss.request, .answer])
  func `settles a change whose answer was lost`(loss: Cluster.Loss) async throws {
    let vault = try await TestVault()
    let isFirst = Atomic(true)
    let cluster = vault.engine.cluster.losing { _ in
      isFirst.exchange(false, ordering: .relaxed) ? loss : nil
    }
    let machine = try await vault.join(1, in: directory, on: cluster)
    let saved = try await machine.credentials.save(.sample(secret: "one"))
    // A change that does nothing took the number of a lost request.
    #expect(saved.revision.sequence == (loss == .answer ? 1 : 2))
    #expect(try await secret(machine) == Secret(utf8: "one"))
    await machine.close()
  }

  @Test func `does not answer a save that the cluster only claims to have made`() async throws {
    let vault = try await TestVault()
    let isFirst = Atomic(true)
    let cluster = vault.engine.cluster.losing { _ in
      isFirst.exchange(false, ordering: .relaxed) ? .commit : nil
    }
    let machine = try await vault.join(1, in: directory, on: cluster)
    let error = await expect(.corrupt) { try await machine.credentials.save(.sample()) }
    #expect(error?.outcome == .unchanged)
    await expect(.notFound) { try await machine.credentials.load(.sample) }
    await machine.close()
  }

  @Test func `notices that the cluster was rolled back, and keeps its copy`() async throws {
    let vault = try await TestVault()
    let machine = try await vault.join(1, in: directory)
    try await machine.credentials.save(.sample(secret: "one"))
    let position = vault.engine.position
    try await machine.credentials.save(.sample(secret: "two"))
    vault.engine.rollBack(to: position)
    await expect(.corrupt) { try await secret(machine) }
    let error = await expect(.corrupt) { try await machine.credentials.save(.sample()) }
    #expect(error?.outcome == .unchanged)
    #expect(try await secret(machine, fresh: false) == Secret(utf8: "two"))
    #expect(machine.status().problem?.code == .corrupt)
    await machine.close()
  }

  @Test func `notices that the cluster has another history, also after a restart`() async throws {
    let vault = try await TestVault()
    let machine = try await vault.join(1, in: directory)
    let fork = vault.engine.forked()
    let other = try await vault.join(2, in: directory, on: fork.cluster)
    try await machine.credentials.save(.sample(secret: "one"))
    for number in 0..<3 { try await other.credentials.save(.sample(secret: "fork \(number)")) }
    await machine.close()
    let again = try await vault.open(1, in: directory, on: fork.cluster)
    await expect(.corrupt) { try await secret(again) }
    #expect(try await secret(again, fresh: false) == Secret(utf8: "one"))
    for machine in [again, other] { await machine.close() }
  }

  @Test func `verifies again what the copy has beyond the note`() async throws {
    let vault = try await TestVault()
    let machine = try await vault.join(1, in: directory)
    let file = try TestVault.file(1, in: directory)
    for number in 0..<5 { try await machine.credentials.save(.sample(secret: "\(number)")) }
    await machine.close()
    let old = try await EncryptedFile.openCopy(file)
    let note = try #require(try old.note())
    await old.storage.close()
    let second = try await vault.open(1, in: directory)
    for number in 5..<9 { try await second.credentials.save(.sample(secret: "\(number)")) }
    await second.close()
    let newer = try await EncryptedFile.openCopy(file)
    try newer.setNote(note)
    await newer.storage.close()
    let third = try await vault.open(1, in: directory)
    #expect(third.status().revision.sequence == 9 && third.status().problem == nil)
    #expect(try await secret(third) == Secret(utf8: "8"))
    await third.close()
  }

  @Test func `reads rows that the cluster does not answer together`() async throws {
    let vault = try await TestVault()
    let machines = [try await vault.join(1, in: directory), try await vault.join(2, in: directory)]
    let keys = (0..<5).map { CredentialKey(service: "large", account: "\($0)") }
    for key in keys {
      try await machines[0].credentials.save(
        .sample(key, secret: String(repeating: "s", count: 400 << 10)))
    }
    try await machines[1].refresh()
    for key in keys { _ = try await machines[1].credentials.load(key) }
    for machine in machines { await machine.close() }
  }

  @Test func `lists all rows after thousands of changes`() async throws {
    let vault = try await TestVault()
    let (machine, engine) = (try await vault.join(1, in: directory), vault.engine)
    try await machine.credentials.save(.sample(secret: "one"))
    let lists = Atomic(0)
    let late = try await vault.join(
      2, in: directory,
      on: engine.cluster.delayed {
        if case .list = $0 { lists.add(1, ordering: .relaxed) }
      })
    let before = lists.load(ordering: .relaxed)
    var record = try #require(try await engine.cluster.head(1).head)
    var head = try vault.keys.verifyHead(record, in: vault.roster, notBefore: vault.invitation.head)
    for _ in 0..<5000 {
      var next = head.head
      (next.sequence, next.before, next.change) = (next.sequence + 1, head.digest, .nothing)
      let bytes = vault.keys.encode(next, signedBy: TestVault.machine(1), nonce: nonce())
      _ = try await engine.cluster.commit(
        Commit(
          expected: Commit.ExpectedHead(generation: 1, bytes: record),
          puts: [
            .head(generation: 1): bytes, .logEntry(generation: 1, sequence: next.sequence): bytes,
          ]))
      record = bytes
      head = try vault.keys.verifyNextHead(record, after: head, in: [vault.roster])
    }
    try await late.refresh()
    #expect(lists.load(ordering: .relaxed) == before + 256)
    #expect(late.status().revision.sequence == 5001)
    #expect(try await secret(late, fresh: false) == Secret(utf8: "one"))
    for machine in [machine, late] { await machine.close() }
  }

  @Test func `ends following when it is closed, although the cluster is silent`() async throws {
    let vault = try await TestVault()
    var options = TestVault.options(1)
    options.confirmsEvery = .milliseconds(1)
    let machine = try await vault.join(1, in: directory, options: options)
    let following = Task { await machine.follow() }
    try await machine.credentials.save(.sample())
    await machine.close()
    await following.value
  }

  @Test func `makes an older copy again from all rows`() async throws {
    let vault = try await TestVault()
    let disk = Disk()
    let options = TestVault.options(1)
    let machine = try await SharedVault.join(
      vault.invitation, on: vault.engine.cluster, options
    ) { master, storeID, epoch throws(StorageError) in
      try disk.makeCopy(master, storeID, epoch)
      return disk.copy(in: Life()) {}
    }
    try await machine.credentials.save(.sample(CredentialKey(service: "gone")))
    let old = disk.state.withLock { $0! }
    try await machine.credentials.delete(CredentialKey(service: "gone"))
    try await machine.credentials.save(.sample(secret: "one"))
    await machine.close()
    disk.state.withLock { ($0!.rows, $0!.vault) = (old.rows, old.vault) }
    let again = try await SharedVault.open(
      disk.copy(in: Life()) {}, on: vault.engine.cluster, options)
    #expect(again.status().revision.sequence == 1 && again.status().problem?.code == .corrupt)
    #expect(try await secret(again) == Secret(utf8: "one"))
    #expect(again.status().problem == nil)
    await expect(.notFound) {
      try await again.credentials.load(LoadRequest(key: .init(service: "gone"), maxStale: 0))
    }
    await again.close()
  }
}
