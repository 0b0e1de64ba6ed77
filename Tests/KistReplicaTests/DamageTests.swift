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

@Suite(.timeLimit(.minutes(5))) struct `A record that is damaged in the cluster` {
  private let directory = try! TemporaryDirectory()

  private func note() throws -> [UInt8] {
    try #require(try EncryptedFile.note(ofCopy: TestVault.file(1, in: directory).path))
  }

  private func beginGeneration(_ vault: TestVault) async throws {
    _ = try await VaultAdmin(TestVault.admin, on: vault.engine.cluster, TestVault.options(1))
      .beginGeneration(without: nil, note: note())
  }

  private func damaged(_ machine: SharedVault, _ cluster: Cluster) async throws -> [CredentialKey] {
    try await SharedVault.damaged(
      among: try await machine.credentials.findAll(), at: machine.status().head, note: note(),
      on: cluster, TestVault.options(1)
    ).map(\.key)
  }

  @Test func `is not searched by a machine whose copy is not the newest`() async throws {
    let vault = try await TestVault()
    let machine = try await vault.join(1, in: directory)
    let other = try await vault.join(2, in: directory)
    try await other.credentials.save(.sample())
    await expect(.busy) { try await damaged(machine, vault.engine.cluster) }
    try await machine.refresh()
    #expect(try await damaged(machine, vault.engine.cluster) == [])
    for machine in [machine, other] { await machine.close() }
  }

  enum Damage: CaseIterable { case missing, changed, older }

  @Test(arguments: Damage.allCases)
  func `stops a new key, is named, and is mended by a save`(damage: Damage) async throws {
    let vault = try await TestVault()
    let cluster = vault.engine.cluster
    let machine = try await vault.join(1, in: directory)
    try await machine.credentials.save(.sample(secret: "old"))
    let name = RecordName.row(
      generation: 1, key: RecordID(vault.keys.store.tag(of: .sample).key))
    let old = try #require(try await cluster.records([name])[0])
    try await machine.credentials.save(.sample(secret: "new"))
    for service in ["a", "b"] {
      try await machine.credentials.save(
        NewCredential(key: CredentialKey(service: service), secret: Secret(utf8: "other")))
    }
    #expect(try await damaged(machine, cluster) == [])
    var commit = Commit(expected: nil)
    switch damage {
    case .missing: commit.deletes = [name]
    case .older: commit.puts[name] = old
    case .changed:
      var row = try #require(try await cluster.records([name])[0])
      row[row.count / 2] ^= 1
      commit.puts[name] = row
    }
    _ = try await cluster.commit(commit)
    let error = await expect(.corrupt) { try await beginGeneration(vault) }
    #expect(error?.outcome == .unchanged)
    // The announcement of the new key.
    try await machine.refresh()
    #expect(try await damaged(machine, cluster) == [.sample])
    let loaded = try await machine.credentials.load(.sample).secret
    #expect(loaded == Secret(utf8: "new"))
    try await machine.credentials.save(.sample(secret: "new"))
    #expect(try await damaged(machine, cluster) == [])
    try await beginGeneration(vault)
    await machine.close()
  }

  @Test func `cannot be found in pages that the cluster repeats`() async throws {
    let vault = try await TestVault()
    let machine = try await vault.join(1, in: directory)
    try await machine.credentials.save(.sample())
    var cluster = vault.engine.cluster
    cluster.list = { request throws(StorageError) in
      var first = request
      first.after = nil
      guard case .page(var page) = try await vault.engine.cluster.list(first) else {
        return .compacted
      }
      page.isLast = false
      return .page(page)
    }
    await expect(.corrupt) { try await damaged(machine, cluster) }
    await machine.close()
  }

  enum Kind: CaseIterable {
    case roster, logEntry, row

    func contains(_ name: RecordName) -> Bool {
      switch (self, name) {
      case (.roster, .roster), (.logEntry, .logEntry), (.row, .row): true
      default: false
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func `is corrupt, not a request that is too large`(kind: Kind) async throws {
    let vault = try await TestVault()
    let other = try await vault.join(2, in: directory)
    let isLarge = Atomic(false)
    let machine = try await vault.join(
      1, in: directory,
      on: vault.engine.cluster.tooLarge { names in
        isLarge.load(ordering: .relaxed) && names.contains(where: kind.contains)
      })
    try await other.credentials.save(.sample())
    isLarge.store(true, ordering: .relaxed)
    await expect(.corrupt) { try await machine.refresh() }
    let error = await expect(.corrupt) { try await machine.credentials.save(.sample()) }
    #expect(error?.outcome == .unchanged)
    for machine in [machine, other] { await machine.close() }
  }
}
