import KistCluster
import KistCore
import KistFile
import KistReplica
import KistTesting
import KistVault
import Synchronization
import Testing

@testable import KistSimulation

@Suite(.timeLimit(.minutes(10))) struct `A copy with the new key of a shared vault` {
  private let directory = try! TemporaryDirectory()

  private func note(_ machine: Int) throws -> [UInt8] {
    try #require(try EncryptedFile.note(ofCopy: TestVault.file(machine, in: directory).path))
  }

  /// Begins a generation, and returns what an open machine makes for its new copy.
  private func renewal(
    of vault: TestVault, _ machine: Int, on cluster: Cluster? = nil,
    before change: (SharedVault) async throws -> Void
  ) async throws -> SharedVault.Renewal {
    let renew = Mutex<(@Sendable () async throws(StorageError) -> SharedVault.Renewal?)?>(nil)
    var options = TestVault.options(machine)
    options.whenGenerationBegins = { given in renew.withLock { $0 = given } }
    let open = try await vault.join(machine, in: directory, on: cluster, options: options)
    try await change(open)
    _ = try await VaultAdmin(TestVault.admin, on: vault.engine.cluster, TestVault.options(1))
      .beginGeneration(without: nil, note: note(machine))
    await expect(.busy) { try await open.refresh() }
    let given = renew.withLock(\.self)
    let renewal = try #require(try await given?())
    await open.close()
    return renewal
  }

  @Test func `needs no row of the cluster on a machine that has the last change`() async throws {
    let vault = try await TestVault()
    let reads = Atomic(0)
    var cluster = vault.engine.cluster
    cluster.list = { request throws(StorageError) in
      reads.add(1, ordering: .relaxed)
      return try await vault.engine.cluster.list(request)
    }
    let joined = Atomic(0)
    let renewal = try await renewal(of: vault, 1, on: cluster) { machine in
      for number in 1...300 {
        try await machine.credentials.save(
          NewCredential(
            key: CredentialKey(service: "\(number)"), secret: Secret(utf8: "secret"), label: "a",
            attributes: ["b": "2", "a": "1"], expiresAt: .sample))
      }
      try await machine.credentials.delete(CredentialKey(service: "7"))
      joined.store(reads.load(ordering: .relaxed), ordering: .relaxed)
    }
    #expect(reads.load(ordering: .relaxed) == joined.load(ordering: .relaxed))
    // The same bytes as in the cluster.
    let read = try #require(
      try await SharedVault.renewal(
        after: note(1), on: vault.engine.cluster, TestVault.options(1)))
    #expect(renewal.content.rows == read.content.rows && renewal.content.rows.count == 299)
    #expect(renewal.content.state == read.content.state && renewal.storeID == read.storeID)
  }

  @Test func `is read from the cluster if the machine has missed changes`() async throws {
    let vault = try await TestVault()
    let other = try await vault.join(3, in: directory)
    let renewal = try await renewal(of: vault, 1) { _ in
      // The admin deletes this row before the machine reads it.
      try await other.credentials.save(.sample(secret: "new"))
    }
    await other.close()
    #expect(renewal.content.rows.count == 1 && renewal.content.state.count == 1)
  }
}
