import KistCluster
import KistCore
import KistFile
import KistReplica
import KistShared
import KistTesting
import Synchronization
import Testing

@testable import KistSimulation

@Suite(.timeLimit(.minutes(5))) struct `The reports of the machines of a shared vault` {
  private let directory = try! TemporaryDirectory()
  private let secondID = TestVault.machine(2).keys.id

  /// Returns what machine 2 has reported, as machine 1 reads it.
  private func report(_ vault: TestVault) async throws -> SharedVault.Report {
    try #require(try await reports(vault).first { $0.machine.id == secondID })
  }

  private func reports(
    _ vault: TestVault, on cluster: Cluster? = nil
  ) async throws -> [SharedVault.Report] {
    try await SharedVault.reports(
      after: try EncryptedFile.note(ofCopy: directory("copy-1.db")),
      on: cluster ?? vault.engine.cluster, TestVault.options(1))
  }

  /// Follows the cluster on a machine until it has reported a revision.
  private func follow(
    _ machine: SharedVault, in vault: TestVault, until revision: Revision
  ) async throws {
    let following = Task { await machine.follow() }
    while try await !report(vault).has(revision) { try await Task.sleep(for: .milliseconds(5)) }
    following.cancel()
    await following.value
  }

  @Test func `show which machines have a change`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let second = try await vault.join(2, in: directory)
    #expect(try await reports(vault).map(\.state) == [.nothing, .nothing, .nothing, .nothing])
    let old = try await first.credentials.save(.sample(secret: "old"))
    try await follow(second, in: vault, until: old.revision)
    let new = try await first.credentials.save(.sample(secret: "new"))
    let found = try await report(vault)
    #expect(found.has(old.revision) && !found.has(new.revision))
    #expect(found.machine.name == "machine 2")
    // A revision of another store.
    #expect(!found.has(Revision(rawValue: "other.1")))
    await first.close()
    await second.close()
  }

  @Test func `leave out a recovery key, which is on paper`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    _ = try await VaultAdmin(TestVault.admin, on: vault.engine.cluster, TestVault.options(1)).add(
      VaultAdmin.NewMember(TestVault.machine(5).keys, .writer, name: "paper", isAdmin: true),
      note: try EncryptedFile.note(ofCopy: directory("copy-1.db")))
    try await first.refresh()
    #expect(first.status().members == 5)
    #expect(try await reports(vault).map(\.machine.name).contains("paper") == false)
    await first.close()
  }

  @Test func `are written again only after some seconds, and never by a save`() async throws {
    let (vault, time) = (try await TestVault(), ManualTime())
    let first = try await vault.join(1, in: directory)
    let written = Mutex<[Duration]>([])
    let engine = vault.engine
    let options = time.options(2)
    let cluster = vault.committing { commit throws(StorageError) in
      if commit.puts.keys.contains(.seen(machine: TestVault.machine(2).keys.id)) {
        written.withLock { $0.append(options.elapsed()) }
      }
      return try await engine.cluster.commit(commit)
    }
    let second = try await vault.join(2, in: directory, on: cluster, options: options)
    for _ in 0..<8 { try await second.credentials.save(.sample()) }
    #expect(written.withLock(\.self).isEmpty)
    let following = Task { await second.follow() }
    while written.withLock(\.count) < 4 {
      try await first.credentials.save(.sample())
      try await Task.sleep(for: .milliseconds(5))
    }
    following.cancel()
    await following.value
    let times = written.withLock(\.self)
    for (earlier, later) in zip(times, times.dropFirst()) {
      #expect(later - earlier >= options.beaconsEvery)
    }
    await first.close()
    await second.close()
  }

  @Test func `are refused if the machine did not write them`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let beacon = Beacon(
      point: HeadPoint(sequence: 9, digest: Digest(of: [])), time: .sample)
    let forged = vault.keys.encode(beacon, signedBy: TestVault.machine(3), nonce: nonce())
    _ = try await vault.engine.cluster.commit(
      Commit(expected: nil, puts: [.seen(machine: secondID): forged]))
    guard case .refused(let error) = try await report(vault).state else {
      Issue.record("a forged report was accepted")
      return
    }
    #expect(error.code == .corrupt)
    await first.close()
  }

  @Test func `of other machines are shown, although one is larger than kist writes`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let second = try await vault.join(2, in: directory)
    let saved = try await first.credentials.save(.sample())
    try await follow(second, in: vault, until: saved.revision)
    let large = TestVault.machine(3).keys.id
    let found = try await reports(
      vault, on: vault.engine.cluster.tooLarge { $0.contains(.seen(machine: large)) })
    #expect(found.filter { $0.has(saved.revision) }.map(\.machine.id) == [secondID])
    let refused = try #require(found.first { $0.machine.id == large })
    guard case .refused(let error) = refused.state else {
      Issue.record("a large report was accepted")
      return
    }
    #expect(error.code == .corrupt)
    for machine in [first, second] { await machine.close() }
  }

  @Test func `are not shown from a cluster that was rolled back`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let earlier = vault.engine.forked()
    try await first.credentials.save(.sample())
    // Writes the note with this change.
    await first.close()
    await expect(.corrupt) { try await reports(vault, on: earlier.cluster) }
  }

  @Test func `are refused if they are of another history`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let fork = vault.engine.forked()
    try await first.credentials.save(.sample(secret: "one"))
    let second = try await vault.join(2, in: directory, on: fork.cluster)
    try await second.credentials.save(.sample(secret: "two"))
    let following = Task { await second.follow() }
    let name = RecordName.seen(machine: secondID)
    var record: [UInt8]?
    while record == nil {
      record = try await fork.cluster.records([name])[0]
      try await Task.sleep(for: .milliseconds(5))
    }
    following.cancel()
    await following.value
    _ = try await vault.engine.cluster.commit(
      Commit(expected: nil, puts: [name: try #require(record)]))
    guard case .refused(let error) = try await report(vault).state else {
      Issue.record("a report of another history was accepted")
      return
    }
    #expect(error.code == .corrupt)
    await first.close()
    await second.close()
  }
}
