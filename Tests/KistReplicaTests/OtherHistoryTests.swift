import KistCluster
import KistCore
import KistFile
import KistReplica
import KistShared
import KistSodium
import KistTesting
import KistVault
import Testing

@testable import KistSimulation

@Suite(.timeLimit(.minutes(10))) struct `A vault is not put back` {
  /// Expects that the command fails and changes neither the roster nor the head.
  private func expect(
    _ code: StorageError.Code, from machine: Int, of lossy: LossyVault, hint: String
  ) async throws {
    let cluster = lossy.vault.engine.cluster
    func state() async throws -> [[UInt8]?] {
      try await cluster.records(
        (1...8).map { .roster(number: $0) } + (0...8).map { .head(generation: $0) })
    }
    let before = try await state()
    let error = await KistTesting.expect(code) { try await lossy.putBack(from: machine) }
    #expect(error?.outcome == .unchanged && error?.hint?.contains(hint) == true)
    #expect(try await state() == before)
  }

  @Test(arguments: 1...3)
  func `after another machine changed the older state, until its records are deleted`(
    changes: Int
  ) async throws {
    let lossy = try await LossyVault(.ofTwoChanges)
    let options = TestVault.options(3, now: { Timestamp.now().advanced(bySeconds: 60)! })
    let other = try await lossy.open(3, options: options)
    // Also if it made fewer or more changes than were lost.
    for number in 1...changes {
      try await other.credentials.save(.sample(secret: "other \(number)"))
    }
    try await expect(.corrupt, from: 1, of: lossy, hint: "A restored or lost cluster")
    #expect(try await confirmedSecret(other) == Secret(utf8: "other \(changes)"))
    lossy.vault.engine.rollBack(to: ClusterPosition(0))
    try await lossy.putBack(from: 1)
    try await lossy.renew(2)
    // The copy of the other machine still has what is not in the vault now.
    await KistTesting.expect(.corrupt) { try await other.refresh() }
    #expect(
      try await other.credentials.load(.sample).secret == Secret(utf8: "other \(changes)"))
    await other.close()
  }

  @Test func `from a copy that is of another change than its note`() async throws {
    let ahead = LossyVault(on: try await TestVault(), in: try TemporaryDirectory())
    for machine in try await ahead.join(1) { await machine.close() }
    let behind = try ahead.duplicate()
    let kept = ahead.vault.engine.position
    let machine = try await ahead.open(1)
    try await machine.credentials.save(.sample())
    await machine.close()
    let notes = (old: try #require(try behind.note(1)), new: try #require(try ahead.note(1)))
    try await ahead.setNote(notes.old, of: 1)
    try await behind.setNote(notes.new, of: 1)
    ahead.vault.engine.rollBack(to: kept)
    try await expect(.unavailable, from: 1, of: ahead, hint: "make a backup")
    try await expect(.unavailable, from: 1, of: behind, hint: "completes the copy")
  }

  @Test func `from the copy of a machine that was no member yet`() async throws {
    let lossy = LossyVault(on: try await TestVault(members: 1...1), in: try TemporaryDirectory())
    for machine in try await lossy.join(1) { await machine.close() }
    let kept = lossy.vault.engine.position
    _ = try await lossy.admin(1).beginGeneration(without: nil, note: lossy.note(1))
    try await lossy.renew(1)
    let invitation = try await lossy.admin(1).add(
      .init(TestVault.machine(2).keys, .writer, name: "two"), note: lossy.note(1))
    var vault = lossy.vault
    vault.invitation = invitation
    await (try await vault.join(2, in: lossy.directory)).close()
    lossy.vault.engine.rollBack(to: kept)
    try await expect(.denied, from: 2, of: lossy, hint: "A restored or lost cluster")
  }

  @Test func `from an older copy, which has the former key`() async throws {
    let lossy = LossyVault(on: try await TestVault(), in: try TemporaryDirectory())
    for machine in try await lossy.join(1, 2) { await machine.close() }
    _ = try await lossy.admin(1).beginGeneration(without: nil, note: lossy.note(1))
    try await expect(.unavailable, from: 2, of: lossy, hint: "start kistd")
  }

  @Test(arguments: [1: StorageError.Code.corrupt, 2: .unavailable])
  func `from an older copy, after it was put back into an empty cluster`(
    losses: Int, code: StorageError.Code
  ) async throws {
    let lossy = try await LossyVault(.ofEverything)
    for loss in 1...losses {
      lossy.vault.engine.rollBack(to: ClusterPosition(0))
      try await lossy.putBack(from: 1)
      if loss < losses { try await lossy.renew(1) }
    }
    try await expect(code, from: 3, of: lossy, hint: "join again")
  }

  @Test func `in the place of another vault`() async throws {
    let lossy = try await LossyVault(.ofEverything)
    let admin = VaultAdmin(
      try SigningKey(seed: key(0xBD)), on: lossy.vault.engine.cluster, TestVault.options(5))
    _ = try await admin.makeVault(nameOfThisMachine: "another vault")
    try await expect(.corrupt, from: 1, of: lossy, hint: "A restored or lost cluster")
  }

  @Test func `over a copy that has changes of its own, which stays`() async throws {
    let lossy = LossyVault(on: try await TestVault(), in: try TemporaryDirectory())
    for machine in try await lossy.join(1, 2) { await machine.close() }
    let kept = lossy.vault.engine.position
    let note = try #require(try lossy.note(1))
    let first = try await lossy.open(1)
    for secret in ["one", "two"] { try await first.credentials.save(.sample(secret: secret)) }
    await first.close()
    // As if machine 1 was killed. No other machine has its last two changes.
    try await lossy.setNote(note, of: 1)
    lossy.vault.engine.rollBack(to: kept)
    try await lossy.putBack(from: 2)
    let error = await KistTesting.expect(.corrupt) { try await lossy.renewal(of: 1) }
    #expect(error?.hint?.contains("join again") == true)
    let opened = try await lossy.open(1)
    await KistTesting.expect(.corrupt) { try await opened.refresh() }
    #expect(opened.status().head == opened.status().revision)
    #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "two"))
    await opened.close()
  }

  @Test func `by two admins at once`() async throws {
    let lossy = try await LossyVault(.ofTwoChanges)
    async let first = lossy.putBack(from: 1)
    async let second = lossy.putBack(from: 2)
    let rosters = [try? await first.roster, try? await second.roster].compactMap(\.self)
    #expect(!rosters.isEmpty && rosters.count == Set(rosters).count)
    for machine in [1, 2] {
      try await lossy.renew(machine)
      let renewed = try await lossy.open(machine)
      #expect(try await confirmedSecret(renewed) == Secret(utf8: "new"))
      await renewed.close()
    }
  }
}
