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

@Suite(.timeLimit(.minutes(10))) struct `A vault whose cluster lost changes` {
  private let directory = try! TemporaryDirectory()

  private func note(_ machine: Int) throws -> [UInt8] {
    try #require(try EncryptedFile.note(ofCopy: TestVault.file(machine, in: directory).path))
  }

  private func admin(_ vault: TestVault, _ machine: Int, on cluster: Cluster? = nil) -> VaultAdmin {
    VaultAdmin(
      TestVault.admin, on: cluster ?? vault.engine.cluster, ManualTime().options(machine))
  }

  private func join(_ vault: TestVault, _ machines: [Int]) async throws -> [SharedVault] {
    var joined: [SharedVault] = []
    for machine in machines { joined.append(try await vault.join(machine, in: directory)) }
    return joined
  }

  private func open(_ vault: TestVault, _ machines: [Int]) async throws -> [SharedVault] {
    var opened: [SharedVault] = []
    for machine in machines { opened.append(try await vault.open(machine, in: directory)) }
    return opened
  }

  /// Gives the vault a new key from the copy of a machine.
  @discardableResult
  private func putBack(
    _ vault: TestVault, from machine: Int, on cluster: Cluster? = nil
  ) async throws -> SharedVault.Invitation {
    let copy = try await EncryptedFile.openCopy(TestVault.file(machine, in: directory))
    let begun: Result<SharedVault.Invitation, StorageError>
    do throws(StorageError) {
      begun = .success(
        try await admin(vault, machine, on: cluster).beginGeneration(from: copy).invitation)
    } catch { begun = .failure(error) }
    await copy.storage.close()
    return try begun.get()
  }

  /// Returns what a machine needs for a copy with a new key; `nil` if there is no new key.
  private func renewal(of machine: Int, _ vault: TestVault) async throws -> SharedVault.Renewal? {
    try await SharedVault.renewal(
      after: note(machine), on: vault.engine.cluster, TestVault.options(machine))
  }

  /// Replaces the copy of a machine by one with the new key.
  private func renew(_ machine: Int, of vault: TestVault) async throws {
    let renewal = try #require(try await renewal(of: machine, vault))
    try await EncryptedFile.replaceCopy(
      TestVault.file(machine, in: directory),
      with: .init(master: renewal.master, storeID: renewal.storeID, epoch: renewal.epoch),
      renewal.content, note: renewal.note)
  }

  private func secret(_ vault: SharedVault) async throws -> Secret {
    try await vault.credentials.load(LoadRequest(key: .sample, maxStale: 0)).secret
  }

  /// How many changes are lost.
  enum Loss: CaseIterable {
    case ofTwoChanges, ofAMember, ofAKey, ofEverything
  }

  /// Makes a vault with three machines, and returns the position up to which the cluster keeps changes.
  ///
  /// Machines 1 and 2 know the newest change, and machine 3 only what is kept.
  private func vaultAfterChanges(_ loss: Loss) async throws -> (TestVault, kept: ClusterPosition) {
    let vault = try await TestVault()
    let machines = try await join(vault, [1, 2, 3])
    try await machines[0].credentials.save(.sample(secret: "old"))
    for machine in machines { try await machine.refresh() }
    await machines[2].close()
    let kept = vault.engine.position
    try await machines[1].credentials.save(.sample(secret: "lost"))
    try await machines[1].credentials.save(.sample(secret: "new"))
    if loss == .ofAMember {
      _ = try await admin(vault, 1).add(
        .init(TestVault.machine(20).keys, .reader, name: "new"), note: note(1))
    }
    for machine in machines[..<2] {
      try await machine.refresh()
      await machine.close()
    }
    if loss == .ofAKey || loss == .ofEverything {
      _ = try await admin(vault, 1).beginGeneration(without: nil, note: note(1))
      for machine in [1, 2] { try await renew(machine, of: vault) }
    }
    return (vault, loss == .ofEverything ? ClusterPosition(0) : kept)
  }

  @Test(arguments: Loss.allCases)
  func `goes on with the newest copy, on each machine that knows the newest change`(loss: Loss)
    async throws
  {
    let (vault, kept) = try await vaultAfterChanges(loss)
    vault.engine.rollBack(to: kept)
    let before = try await vault.open(1, in: directory)
    await expect(.corrupt) { try await before.refresh() }
    let refused = await expect(.corrupt) {
      try await before.credentials.save(.sample(secret: "refused"))
    }
    #expect(refused?.outcome == .unchanged)
    #expect(try await before.credentials.load(.sample).secret == Secret(utf8: "new"))
    await before.close()

    let invitation = try await putBack(vault, from: 1)
    for machine in [1, 2] { try await renew(machine, of: vault) }
    let machines = try await open(vault, [1, 2])
    #expect(try await secret(machines[0]) == Secret(utf8: "new"))
    try await machines[1].credentials.save(.sample(secret: "newer"))
    #expect(try await secret(machines[0]) == Secret(utf8: "newer"))
    for machine in machines { await machine.close() }

    // Machine 3 knows an older change, so it cannot tell whether it has one that is lost now.
    let behind = await expect(.corrupt) { try await renewal(of: 3, vault) }
    #expect(behind?.hint?.contains("--from-copy") == true)
    var again = vault
    again.invitation = invitation
    let joined = try await again.join(3, in: TemporaryDirectory())
    #expect(try await secret(joined) == Secret(utf8: "newer"))
    await joined.close()
    await expect(.denied) {
      try await admin(vault, 1).makeVault(nameOfThisMachine: "another vault")
    }
  }

  @Test func `goes on without joining on a machine that knows the change before the newest one`()
    async throws
  {
    let vault = try await TestVault()
    let machines = try await join(vault, [1, 2])
    let kept = vault.engine.position
    try await machines[0].credentials.save(.sample(secret: "old"))
    try await machines[1].refresh()
    await machines[1].close()
    try await machines[0].credentials.save(.sample(secret: "new"))
    await machines[0].close()
    vault.engine.rollBack(to: kept)
    try await putBack(vault, from: 1)
    try await renew(2, of: vault)
    let renewed = try await vault.open(2, in: directory)
    #expect(try await secret(renewed) == Secret(utf8: "new"))
    await renewed.close()
  }

  @Test func `keeps a removed machine out`() async throws {
    let vault = try await TestVault()
    let machines = try await join(vault, [1, 2])
    for machine in machines { await machine.close() }
    let kept = vault.engine.position
    _ = try await admin(vault, 1).beginGeneration(
      without: TestVault.machine(2).id, note: note(1))
    try await renew(1, of: vault)
    vault.engine.rollBack(to: kept)
    let removed = try await vault.open(2, in: directory)
    try await removed.refresh()
    try await putBack(vault, from: 1)
    await expect(.denied) { try await removed.refresh() }
    await removed.close()
  }

  @Test(arguments: [false, true])
  func `keeps the changes that another machine made after the loss`(isLater: Bool) async throws {
    let (vault, kept) = try await vaultAfterChanges(.ofTwoChanges)
    vault.engine.rollBack(to: kept)
    let options = TestVault.options(3, now: { Timestamp.now().advanced(bySeconds: 60)! })
    let other = try await vault.open(3, in: directory, options: options)
    try await other.credentials.save(.sample(secret: "other"))
    // Also if it made fewer changes than were lost.
    if isLater { try await other.credentials.save(.sample(secret: "another")) }
    let head = try await vault.engine.cluster.head(1).head
    let error = await expect(.corrupt) { try await putBack(vault, from: 1) }
    #expect(error?.outcome == .unchanged)
    #expect(try await vault.engine.cluster.head(1).head == head)
    #expect(try await secret(other) == Secret(utf8: isLater ? "another" : "other"))
    await other.close()
  }

  @Test func `is not put back from a copy that is ahead of its note`() async throws {
    let vault = try await TestVault()
    await (try await vault.join(1, in: directory)).close()
    let kept = vault.engine.position
    let older = try note(1)
    let machine = try await vault.open(1, in: directory)
    try await machine.credentials.save(.sample())
    await machine.close()
    let copy = try await EncryptedFile.openCopy(TestVault.file(1, in: directory))
    // As after a crash.
    try copy.setNote(older)
    await copy.storage.close()
    vault.engine.rollBack(to: kept)
    let error = await expect(.unavailable) { try await putBack(vault, from: 1) }
    #expect(error?.outcome == .unchanged)
  }

  @Test(arguments: Loss.allCases, [false, true])
  func `loses nothing when the command is interrupted at any commit`(loss: Loss, isMade: Bool)
    async throws
  {
    let (vault, kept) = try await vaultAfterChanges(loss)
    vault.engine.rollBack(to: kept)
    for last in 1...20 {
      var vault = vault
      vault.engine = vault.engine.forked()
      let engine = vault.engine
      let late = Mutex<[Commit]>([])
      let cluster = vault.committing { commit throws(StorageError) in
        let number = late.withLock { late in
          late.append(commit)
          return late.count
        }
        if number < last { return try await engine.cluster.commit(commit) }
        if number == last, isMade { _ = try await engine.cluster.commit(commit) }
        throw StorageError(.unavailable, "the command was interrupted", outcome: .unknown)
      }
      var isComplete = true
      do { try await putBack(vault, from: 1, on: cluster) } catch { isComplete = false }
      let isRenewed = try await renewal(of: 1, vault) != nil
      if !isRenewed { try await putBack(vault, from: 1) }
      // The commits of the interrupted command do no harm when they are made late, or again.
      for commit in late.withLock(\.self) { _ = try await engine.cluster.commit(commit) }
      for machine in [1, 2] {
        let state = try #require(try await renewal(of: machine, vault)?.content?.state)
        #expect(state.count == 1)
      }
      if isComplete {
        #expect(last >= 5)
        return
      }
    }
    Issue.record("the command makes too many commits")
  }

  @Test func `gets back a row that was damaged in the cluster`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let other = try await vault.join(2, in: directory)
    try await first.credentials.save(.sample())
    try await first.credentials.save(
      NewCredential(key: CredentialKey(service: "another"), secret: Secret(utf8: "old")))
    await first.close()
    // The copy of machine 1 does not have this change.
    try await other.credentials.save(
      NewCredential(key: CredentialKey(service: "another"), secret: Secret(utf8: "new")))
    await other.close()
    let row = RecordName.row(
      generation: 1, key: RecordID(vault.keys.store.tag(of: .sample).key))
    _ = try await vault.engine.cluster.commit(Commit(expected: nil, deletes: [row]))
    await expect(.corrupt) {
      try await admin(vault, 1).beginGeneration(without: nil, note: note(1))
    }
    try await putBack(vault, from: 1)
    try await renew(2, of: vault)
    let renewed = try await vault.open(2, in: directory)
    #expect(try await secret(renewed) == Secret(utf8: "correct horse"))
    #expect(
      try await renewed.credentials.load(CredentialKey(service: "another")).secret
        == Secret(utf8: "new"))
    await renewed.close()
  }
}
