import KistCluster
import KistCore
import KistFile
import KistReplica
import KistTesting
import Synchronization
import Testing

@testable import KistSimulation

@Suite(.timeLimit(.minutes(5))) struct `A pause before a new key of a shared vault` {
  private let directory = try! TemporaryDirectory()

  private func note(_ machine: Int) throws -> [UInt8] {
    try #require(try EncryptedFile.note(ofCopy: TestVault.file(machine, in: directory).path))
  }

  private func admin(on cluster: Cluster) -> VaultAdmin {
    VaultAdmin(TestVault.admin, on: cluster, TestVault.options(1))
  }

  @Test func `keeps writers from changing the vault before the last commit`() async throws {
    let vault = try await TestVault()
    let first = try await vault.join(1, in: directory)
    let isWaiting = Atomic(false)
    var options = TestVault.options(3)
    options.sleep = { duration in
      isWaiting.store(true, ordering: .relaxed)
      try? await Task.sleep(for: duration)
    }
    let other = try await vault.join(3, in: directory, options: options)
    let lastCommits = Atomic(0)
    let saves = Mutex<[Task<StorageError?, Never>]>([])
    let cluster = vault.committing { commit throws(StorageError) in
      guard commit.puts.keys.contains(.roster(number: 2)) else {
        return try await vault.engine.cluster.commit(commit)
      }
      lastCommits.add(1, ordering: .relaxed)
      // A save before each last commit.
      isWaiting.store(false, ordering: .relaxed)
      let before = vault.engine.position
      let save = Task { await expect(.busy) { try await other.credentials.save(.sample()) } }
      saves.withLock { $0.append(save) }
      while !isWaiting.load(ordering: .relaxed), vault.engine.position == before {
        await Task.yield()
      }
      return try await vault.engine.cluster.commit(commit)
    }
    let listed = try await admin(on: cluster).beginGeneration(without: nil, note: note(1))
    #expect(listed.isEmpty && lastCommits.load(ordering: .relaxed) == 1)
    for save in saves.withLock(\.self) {
      let error = await save.value
      #expect(error?.outcome == .unchanged)
    }
    for machine in [first, other] { await machine.close() }
  }

  @Test func `ends if no new key follows`() async throws {
    let vault = try await TestVault()
    let time = ManualTime()
    let first = try await vault.join(1, in: directory, options: time.options(1))
    let cluster = vault.committing { commit throws(StorageError) in
      guard commit.puts.keys.contains(.roster(number: 2)) else {
        return try await vault.engine.cluster.commit(commit)
      }
      throw StorageError(.denied, "interrupted", outcome: .unchanged)
    }
    await expect(.denied) {
      try await admin(on: cluster).beginGeneration(without: nil, note: note(1))
    }
    try await first.refresh()
    let began = time.options(1).elapsed()
    try await first.credentials.save(.sample())
    let waited = time.options(1).elapsed() - began
    #expect(waited >= .milliseconds(500) && waited < .seconds(1))
    try await first.credentials.save(.sample())
    #expect(time.options(1).elapsed() - began == waited)
    await first.close()
  }
}
