import Foundation
import KistCluster
import KistCore
import KistReplica
import KistShared
import KistSodium
import KistTesting
import Synchronization
import Testing

@testable import KistSimulation

@Suite(.timeLimit(.minutes(10))) struct `An admin of a shared vault` {
  private let directory: TemporaryDirectory
  private let engine = MemoryEngine()

  init() throws { directory = try TemporaryDirectory() }

  private func admin(
    _ machine: Int = 1, key byte: UInt8 = 0xAD, on cluster: Cluster? = nil
  ) throws -> VaultAdmin {
    VaultAdmin(
      try SigningKey(seed: key(byte)), on: cluster ?? engine.cluster, TestVault.options(machine))
  }

  private func join(_ invitation: SharedVault.Invitation, _ machine: Int) async throws
    -> SharedVault
  {
    var vault = try await TestVault()
    vault.invitation = invitation
    return try await vault.join(machine, in: directory, on: engine.cluster)
  }

  private func newMember(_ machine: Int, _ role: Member.Role) -> VaultAdmin.NewMember {
    VaultAdmin.NewMember(TestVault.machine(machine).keys, role, name: "machine \(machine)")
  }

  private func note() throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(filePath: directory("copy-1.db.vault"))))
  }

  @Test func `makes a vault, and adds a writer and a reader`() async throws {
    let first = try await join(try admin().makeVault(nameOfThisMachine: "machine 1"), 1)
    let added = try await admin().add(newMember(2, .writer), note: try note())
    let writer = try await join(added, 2)
    let reader = try await join(try admin().add(newMember(3, .reader), note: try note()), 3)
    _ = try await writer.credentials.save(
      NewCredential(key: CredentialKey(service: "s", account: "a"), secret: Secret(utf8: "x")))
    let loaded = try await reader.credentials.load(
      LoadRequest(key: CredentialKey(service: "s", account: "a"), maxStale: 0))
    #expect(loaded.secret == Secret(utf8: "x"))
    let error = await #expect(throws: StorageError.self) {
      try await reader.credentials.save(
        NewCredential(key: CredentialKey(service: "s", account: "b"), secret: Secret(utf8: "x")))
    }
    #expect(error?.code == .denied)
    try await first.refresh()
    let machines = try SharedVault.machines(in: try note(), of: TestVault.machine(1))
    #expect(Set(machines.map(\.name)) == ["machine 1", "machine 2", "machine 3"])
    #expect(machines.filter { $0.role == .reader }.map(\.id) == [TestVault.machine(3).id])
  }

  @Test func `recovers a vault without the admin key and without any machine`() async throws {
    let first = try await join(try admin().makeVault(nameOfThisMachine: "machine 1"), 1)
    var paper = newMember(9, .writer)
    paper.isAdmin = true
    let invitation = try await admin().add(paper, note: try note())
    try await first.credentials.save(.sample())
    await first.close()
    // Machine 9 is only the key on paper.
    let recovery = VaultAdmin(
      TestVault.machine(9).signingKey, on: engine.cluster, TestVault.options(9))
    let new = try await join(try await recovery.add(newMember(2, .writer), after: invitation), 2)
    #expect(try await new.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await new.close()
  }

  @Test func `does not accept the recovery key of a removed member`() async throws {
    let first = try await join(try admin().makeVault(nameOfThisMachine: "machine 1"), 1)
    var paper = newMember(9, .writer)
    paper.isAdmin = true
    _ = try await admin().add(paper, note: try note())
    let recovery = VaultAdmin(
      TestVault.machine(9).signingKey, on: engine.cluster, TestVault.options(1))
    _ = try await recovery.add(newMember(2, .writer), note: try note())
    _ = try await admin().beginGeneration(without: paper.keys.id, note: try note())
    let head = try await engine.cluster.head(2)
    await first.close()
    let renewed = try await SharedVault.renewal(
      after: try note(), on: engine.cluster, TestVault.options(1)
    ) { _ in nil }
    await expect(.denied) {
      try await recovery.add(newMember(3, .writer), note: renewed?.note)
    }
    #expect(try await engine.cluster.head(2) == head)
  }

  @Test(arguments: [false, true])
  func `replaces the admin key, by itself or with a recovery key`(byRecoveryKey: Bool) async throws
  {
    let first = try await join(try admin().makeVault(nameOfThisMachine: "machine 1"), 1)
    var paper = newMember(9, .writer)
    paper.isAdmin = true
    let invitation = try await admin().add(paper, note: try note())
    let signingKey =
      byRecoveryKey ? TestVault.machine(9).signingKey : try SigningKey(seed: key(0xAD))
    let signer = VaultAdmin(signingKey, on: engine.cluster, TestVault.options(1))
    let new = try admin(key: 0xAE)
    let publicKey = try SigningKey(seed: key(0xAE)).publicKey
    // The cluster makes the change, says that it did not, and then answers nothing.
    let isLying = Atomic(false)
    var cluster = engine.cluster
    cluster.commit = { [engine] commit throws(StorageError) in
      _ = try await engine.cluster.commit(commit)
      isLying.store(true, ordering: .relaxed)
      throw StorageError(.busy, "no", outcome: .unchanged)
    }
    cluster.records = { [engine] names throws(StorageError) in
      if isLying.load(ordering: .relaxed) { throw .noAnswer }
      return try await engine.cluster.records(names)
    }
    let lied = VaultAdmin(signingKey, on: cluster, TestVault.options(1))
    let lie = await expect(.busy) { try await lied.replaceAdminKey(by: publicKey, note: note()) }
    #expect(lie?.outcome == .unknown)
    // Another attempt finds that the change is made.
    let number = try await engine.cluster.head(1).head
    let machines = try await signer.replaceAdminKey(by: publicKey, note: try note())
    #expect(try await engine.cluster.head(1).head == number)
    #expect(machines.filter(\.isAdmin).map(\.name) == ["machine 9"])
    try await first.refresh()
    let head = try await engine.cluster.head(1)
    let error = await expect(.denied) { try await admin().add(newMember(2, .writer), note: note()) }
    #expect(error?.outcome == .unchanged)
    #expect(try await engine.cluster.head(1) == head)
    _ = try await new.add(newMember(2, .writer), note: try note())
    // The recovery key, and what is printed with it, still work.
    let recovery = VaultAdmin(
      TestVault.machine(9).signingKey, on: engine.cluster, TestVault.options(9))
    _ = try await recovery.add(newMember(3, .writer), after: invitation)
    await first.close()
  }

  @Test func `does not make a second vault in a cluster`() async throws {
    _ = try await admin().makeVault(nameOfThisMachine: "one")
    let head = try await engine.cluster.head(1)
    let error = await #expect(throws: StorageError.self) {
      try await admin(2).makeVault(nameOfThisMachine: "two")
    }
    #expect(error?.code == .denied)
    #expect(error?.outcome == .unchanged)
    #expect(try await engine.cluster.head(1) == head)
  }

  @Test func `does not make a second vault where the first one has a new generation`() async throws
  {
    let vault = try await TestVault(on: engine)
    try await vault.beginGeneration()
    let error = await #expect(throws: StorageError.self) {
      try await admin().makeVault(nameOfThisMachine: "one")
    }
    #expect(error?.code == .denied)
    #expect(try await engine.cluster.records([.roster(number: 1)]) == [vault.rosterRecord])
  }

  @Test(arguments: [
    (1, 2, 0xAE as UInt8, .denied as StorageError.Code),
    (1, 1, 0xAD, .badRequest),
    (2, 3, 0xAD, .denied),
  ])
  func `refuses another admin key, a member, and a machine that may only read`(
    machine: Int, new: Int, key: UInt8, code: StorageError.Code
  ) async throws {
    _ = try await join(try admin().makeVault(nameOfThisMachine: "machine 1"), 1)
    _ = try await join(try admin().add(newMember(2, .reader), note: try note()), 2)
    let note = try [UInt8](Data(contentsOf: URL(filePath: directory("copy-\(machine).db.vault"))))
    // The machine that is not a member, for the first case.
    let member = newMember(new == 2 ? 3 : new, .writer)
    let head = try await engine.cluster.head(1)
    let error = await #expect(throws: StorageError.self) {
      try await admin(machine, key: key).add(member, note: note)
    }
    #expect(error?.code == code)
    #expect(error?.outcome == .unchanged)
    #expect(try await engine.cluster.head(1) == head)
  }

  @Test(arguments: [true, false])
  func `learns that a commit was made whose answer was lost`(isMade: Bool) async throws {
    let count = Mutex(0)
    var cluster = engine.cluster
    cluster.commit = { [engine] commit throws(StorageError) in
      let number = count.withLock { count in
        count += 1
        return count
      }
      // The first commit of each kind has no answer.
      guard commit.puts.keys.contains(where: { $0.generation == nil }), number % 2 == 1 else {
        return try await engine.cluster.commit(commit)
      }
      if isMade { _ = try await engine.cluster.commit(commit) }
      throw .noAnswer
    }
    let lossy = try admin(on: cluster)
    _ = try await join(try await lossy.makeVault(nameOfThisMachine: "machine 1"), 1)
    count.withLock { $0 = 0 }
    let invitation = try await lossy.add(newMember(2, .writer), note: try note())
    #expect(invitation.roster == 2)
    let joined = try await join(invitation, 2)
    #expect(joined.status().roster == 2)
    #expect(joined.status().revision.rawValue.hasSuffix(".1"))
  }

  @Test func `adds a machine after changes that the note does not have`() async throws {
    let first = try await join(try admin().makeVault(nameOfThisMachine: "machine 1"), 1)
    let old = try note()
    for number in 1...40 {
      _ = try await first.credentials.save(
        NewCredential(
          key: CredentialKey(service: "s\(number)", account: "a"), secret: Secret(utf8: "x")))
    }
    let joined = try await join(try admin().add(newMember(2, .writer), note: old), 2)
    #expect(joined.status().count == 40)
    // The copy of the first machine takes the new roster.
    try await first.refresh()
    #expect(first.status().roster == 2)
  }
}
