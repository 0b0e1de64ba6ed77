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

@Suite(.timeLimit(.minutes(5))) struct `A shared vault whose cluster cannot be reached` {
  private let directory = try! TemporaryDirectory()

  /// A vault with one credential, which was closed, and is open without its cluster.
  private func offline() async throws -> SharedVault {
    let vault = try await TestVault()
    let machine = try await vault.join(1, in: directory)
    try await machine.credentials.save(.sample())
    await machine.close()
    return try await vault.open(1, in: directory, on: .unreachable)
  }

  @Test func `loads and finds in the copy`() async throws {
    let machine = try await offline()
    #expect(try await machine.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    #expect(try await machine.credentials.find(CredentialQuery()).credentials.count == 1)
    let status = machine.status()
    #expect(status.count == 1 && status.revision == status.head)
    #expect(status.members == 4 && status.generation == 1)
    await machine.close()
  }

  @Test(arguments: [false, true])
  func `fails all requests that wait together, or closes before them`(
    isClosed: Bool
  ) async throws {
    let vault = try await TestVault()
    let isSlow = Atomic(false)
    let isAnswering = Atomic(false)
    let reads = Atomic(0)
    var cluster = vault.engine.cluster
    cluster.head = { generation throws(StorageError) in
      guard isSlow.load(ordering: .relaxed) else {
        return try await vault.engine.cluster.head(generation)
      }
      reads.add(1, ordering: .relaxed)
      while !isAnswering.load(ordering: .relaxed) { await Task.yield() }
      throw .noAnswer
    }
    let machine = try await vault.join(1, in: directory, on: cluster)
    isSlow.store(true, ordering: .relaxed)
    let confirmations = (1...10).map { _ in Task.immediate { try await machine.refresh() } }
    while reads.load(ordering: .relaxed) == 0 { await Task.yield() }
    let closing = Task.immediate { if isClosed { await machine.close() } }
    isAnswering.store(true, ordering: .relaxed)
    await closing.value
    for confirmation in confirmations {
      await expect(.unavailable) { try await confirmation.value }
    }
    #expect(reads.load(ordering: .relaxed) == (isClosed ? 1 : 2))
    await machine.close()
  }

  @Test func `loads up to the maximum age of the last confirmation, also after a restart`()
    async throws
  {
    let start = try #require(Timestamp(secondsSinceEpoch: 1_700_000_000))
    let now = Mutex(start)
    let options = TestVault.options(1) { now.withLock(\.self) }
    let vault = try await TestVault()
    let joined = try await vault.join(1, in: directory, options: options)
    try await joined.credentials.save(.sample())
    now.withLock { $0 = start.advanced(bySeconds: 100)! }
    try await joined.refresh()
    await joined.close()
    now.withLock { $0 = start.advanced(bySeconds: 160)! }
    let machine = try await vault.open(1, in: directory, on: .unreachable, options: options)
    #expect(machine.status().asOf == start.advanced(bySeconds: 100))
    for most in [nil, 60, 3600] as [Int64?] {
      let loaded = try await machine.credentials.load(LoadRequest(key: .sample, maxStale: most))
      #expect(loaded.asOf == start.advanced(bySeconds: 100))
    }
    for most in [0, 59] as [Int64] {
      await expect(.unavailable) {
        try await machine.credentials.load(LoadRequest(key: .sample, maxStale: most))
      }
    }
    await machine.close()
  }

  @Test func `confirms the state for a load that needs a newer one`() async throws {
    let start = try #require(Timestamp(secondsSinceEpoch: 1_700_000_000))
    let now = Mutex(start)
    let vault = try await TestVault()
    let machine = try await vault.join(
      1, in: directory, options: TestVault.options(1) { now.withLock(\.self) })
    let other = try await vault.join(2, in: directory)
    try await other.credentials.save(.sample(secret: "new"))
    now.withLock { $0 = start.advanced(bySeconds: 10)! }
    let loaded = try await machine.credentials.load(LoadRequest(key: .sample, maxStale: 9))
    #expect(loaded.secret == Secret(utf8: "new") && loaded.asOf == start.advanced(bySeconds: 10))
    for machine in [machine, other] { await machine.close() }
  }

  @Test func `does not say that a credential is absent`() async throws {
    let machine = try await offline()
    let other = CredentialKey(service: "other")
    let error = await expect(.unavailable) { try await machine.credentials.load(other) }
    #expect(error?.outcome == nil)
    await expect(.unavailable) {
      try await machine.credentials.load(LoadRequest(key: .sample, maxStale: 0))
    }
    #expect(machine.status().problem?.code == .unavailable)
    await machine.close()
  }

  @Test func `refuses changes, and changes nothing`() async throws {
    let machine = try await offline()
    let save = await expect(.unavailable) {
      try await machine.credentials.save(.sample(secret: "new"))
    }
    let delete = await expect(.unavailable) { try await machine.credentials.delete(.sample) }
    #expect(save?.outcome == .unchanged && delete?.outcome == .unchanged)
    #expect(try await machine.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await machine.close()
  }

  @Test func `has a copy without faults, which is an encrypted file`() async throws {
    await (try await offline()).close()
    let store = try await EncryptedFile.open(TestVault.file(1, in: directory))
    #expect(try await store.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await expect(.notFound) { try await store.credentials.load(CredentialKey(service: "other")) }
    #expect(try await store.access.status().integrity == .ok)
    await store.close()
  }

  @Test func `is not opened with the note of another machine`() async throws {
    let vault = try await TestVault()
    for machine in 1...2 { await (try await vault.join(machine, in: directory)).close() }
    let copy = try await EncryptedFile.openCopy(TestVault.file(1, in: directory))
    let other = try await EncryptedFile.openCopy(TestVault.file(2, in: directory))
    try copy.setNote(try #require(try other.note()))
    await expect(.corrupt) {
      try await SharedVault.open(copy, on: .unreachable, TestVault.options(1))
    }
    for copy in [copy, other] { await copy.storage.close() }
  }
}
