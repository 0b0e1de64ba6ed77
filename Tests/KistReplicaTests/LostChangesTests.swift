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

@Suite(.timeLimit(.minutes(10))) struct `A vault whose cluster lost changes` {
  @Test(arguments: Loss.allCases)
  func `goes on with the newest copy, on each machine that knows the newest change`(loss: Loss)
    async throws
  {
    let lossy = try await LossyVault(loss)
    let before = try await lossy.open(1)
    await expect(.corrupt) { try await before.refresh() }
    let refused = await expect(.corrupt) {
      try await before.credentials.save(.sample(secret: "refused"))
    }
    #expect(refused?.outcome == .unchanged)
    #expect(try await before.credentials.load(.sample).secret == Secret(utf8: "new"))
    await before.close()

    let invitation = try await lossy.putBack(from: 1)
    for machine in [1, 2] { try await lossy.renew(machine) }
    let (first, second) = (try await lossy.open(1), try await lossy.open(2))
    #expect(try await confirmedSecret(first) == Secret(utf8: "new"))
    #expect(first.status().members == (loss == .ofAMember ? 5 : 4))
    try await second.credentials.save(.sample(secret: "newer"))
    #expect(try await confirmedSecret(first) == Secret(utf8: "newer"))
    for machine in [first, second] { await machine.close() }

    // Machine 3 knows an older change, so it cannot tell whether it has one that is lost now.
    let behind = await expect(.corrupt) { try await lossy.renewal(of: 3) }
    #expect(behind?.hint?.contains("--from-copy") == true)
    var vault = lossy.vault
    vault.invitation = invitation
    let joined = try await vault.join(3, in: TemporaryDirectory())
    #expect(try await confirmedSecret(joined) == Secret(utf8: "newer"))
    await joined.close()
    await expect(.denied) {
      try await lossy.admin(1).makeVault(nameOfThisMachine: "another vault")
    }
  }

  @Test func `goes on without joining on a machine that knows the change before the newest one`()
    async throws
  {
    let lossy = LossyVault(on: try await TestVault(), in: try TemporaryDirectory())
    let machines = try await lossy.join(1, 2)
    let kept = lossy.vault.engine.position
    try await machines[0].credentials.save(.sample(secret: "old"))
    try await machines[1].refresh()
    await machines[1].close()
    try await machines[0].credentials.save(.sample(secret: "new"))
    await machines[0].close()
    lossy.vault.engine.rollBack(to: kept)
    try await lossy.putBack(from: 1)
    try await lossy.renew(2)
    let renewed = try await lossy.open(2)
    #expect(try await confirmedSecret(renewed) == Secret(utf8: "new"))
    await renewed.close()
  }

  @Test func `keeps a removed machine out`() async throws {
    let lossy = LossyVault(on: try await TestVault(), in: try TemporaryDirectory())
    for machine in try await lossy.join(1, 2) { await machine.close() }
    let kept = lossy.vault.engine.position
    _ = try await lossy.admin(1).beginGeneration(
      without: TestVault.machine(2).id, note: lossy.note(1))
    try await lossy.renew(1)
    lossy.vault.engine.rollBack(to: kept)
    let removed = try await lossy.open(2)
    try await removed.refresh()
    try await lossy.putBack(from: 1)
    await expect(.denied) { try await removed.refresh() }
    await removed.close()
    try await lossy.renew(1)
    let members = try SharedVault.machines(in: lossy.note(1), of: TestVault.machine(1))
    #expect(Set(members.map(\.id)) == Set([1, 3, 4].map { TestVault.machine($0).keys.id }))
  }

  @Test func `is put back from a machine that was killed after it reported its last change`()
    async throws
  {
    let lossy = LossyVault(on: try await TestVault(), in: try TemporaryDirectory())
    for machine in try await lossy.join(1) { await machine.close() }
    let kept = lossy.vault.engine.position
    let before = try lossy.note(1)
    var options = TestVault.options(1)
    options.beaconsEvery = .zero
    let machine = try await lossy.open(1, options: options)
    try await machine.credentials.save(.sample())
    let following = Task { await machine.follow() }
    while try lossy.note(1) == before { try await Task.sleep(for: .milliseconds(5)) }
    let note = try #require(try lossy.note(1))
    following.cancel()
    await following.value
    await machine.close()
    // What was there if it was killed, because closing it writes a note.
    try await lossy.setNote(note, of: 1)
    lossy.vault.engine.rollBack(to: kept)
    try await lossy.putBack(from: 1)
    try await lossy.renew(1)
    let renewed = try await lossy.open(1)
    #expect(try await confirmedSecret(renewed) == Secret(utf8: "correct horse"))
    await renewed.close()
  }

  @Test(arguments: Loss.allCases, [false, true])
  func `loses nothing when the command is interrupted at any commit`(loss: Loss, isMade: Bool)
    async throws
  {
    let before = try await LossyVault(loss)
    for last in 1...20 {
      let lossy = try before.duplicate()
      let engine = lossy.vault.engine
      let late = Mutex<[Commit]>([])
      let cluster = lossy.vault.committing { commit throws(StorageError) in
        let number = late.withLock { late in
          late.append(commit)
          return late.count
        }
        if number < last { return try await engine.cluster.commit(commit) }
        if number == last, isMade { _ = try await engine.cluster.commit(commit) }
        throw StorageError(.unavailable, "the command was interrupted", outcome: .unknown)
      }
      var isComplete = true
      do { try await lossy.putBack(from: 1, on: cluster) } catch { isComplete = false }
      let isRenewed = try await lossy.renewal(of: 1) != nil
      if !isRenewed { try await lossy.putBack(from: 1) }
      // The commits of the interrupted command do no harm when they are made late, or again.
      for commit in late.withLock(\.self) { _ = try await engine.cluster.commit(commit) }
      for machine in [1, 2] {
        try await lossy.renew(machine)
        let renewed = try await lossy.open(machine)
        #expect(try await confirmedSecret(renewed) == Secret(utf8: "new"))
        await renewed.close()
      }
      if isComplete {
        #expect(last >= 5)
        return
      }
    }
    Issue.record("the command makes too many commits")
  }

  @Test func `gets back a row that was damaged in the cluster`() async throws {
    let lossy = LossyVault(on: try await TestVault(), in: try TemporaryDirectory())
    let another = CredentialKey(service: "another")
    let machines = try await lossy.join(1, 2)
    try await machines[0].credentials.save(.sample())
    try await machines[0].credentials.save(
      NewCredential(key: another, secret: Secret(utf8: "old")))
    await machines[0].close()
    // The copy of machine 1 does not have this change.
    try await machines[1].credentials.save(
      NewCredential(key: another, secret: Secret(utf8: "new")))
    await machines[1].close()
    let row = RecordName.row(
      generation: 1, key: RecordID(lossy.vault.keys.store.tag(of: .sample).key))
    _ = try await lossy.vault.engine.cluster.commit(Commit(expected: nil, deletes: [row]))
    await expect(.corrupt) {
      try await lossy.admin(1).beginGeneration(without: nil, note: lossy.note(1))
    }
    try await lossy.putBack(from: 1)
    try await lossy.renew(2)
    let renewed = try await lossy.open(2)
    #expect(try await confirmedSecret(renewed) == Secret(utf8: "correct horse"))
    #expect(try await renewed.credentials.load(another).secret == Secret(utf8: "new"))
    await renewed.close()
  }
}
