import Foundation
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
    let read = try #require(try await vault.renewal(of: 1, in: directory))
    let (content, expected) = (try #require(renewal.content), try #require(read.content))
    #expect(content.rows == expected.rows && content.rows.count == 299)
    #expect(content.state == expected.state && renewal.storeID == read.storeID)
  }

  @Test func `is read from the cluster if the machine has missed changes`() async throws {
    let vault = try await TestVault()
    let other = try await vault.join(3, in: directory)
    let renewal = try await renewal(of: vault, 1) { _ in
      // The admin deletes this row before the machine reads it.
      try await other.credentials.save(.sample(secret: "new"))
    }
    await other.close()
    #expect(renewal.content?.rows.count == 1 && renewal.content?.state.count == 1)
  }

  /// The changes of a vault after a machine made a copy ahead.
  enum LastChanges: CaseIterable {
    /// Credentials are saved, changed and deleted.
    case ordinary
    /// The roster changes, so that the generation begins with other members than were announced.
    case ofRoster
    /// The admin cannot begin the generation, and announces another key.
    case secondAnnouncement
    /// The copy that was made ahead loses a row.
    case damaging
  }

  @Test(arguments: LastChanges.allCases)
  func `is made ahead, and completed by the last changes`(_ changes: LastChanges) async throws {
    let vault = try await TestVault()
    let file = try TestVault.file(1, in: directory)
    let made = Mutex<(copy: LocalCopy, keys: StoreKeys)?>(nil)
    let renew = Mutex<(@Sendable () async throws(StorageError) -> SharedVault.Renewal?)?>(nil)
    var options = TestVault.options(1)
    options.whenGenerationBegins = { given in renew.withLock { $0 = given } }
    options.makeNextCopy = { master, storeID, content throws(StorageError) in
      let copy = try await EncryptedFile.makeNextCopy(
        file, of: .init(master: master, storeID: storeID, epoch: content.state.epoch), content)
      let keys = try StoreKeys(master: master, storeID: storeID)
      made.withLock { $0 = (copy, keys) }
      return copy
    }
    let open = try await vault.join(1, in: directory, options: options)
    for number in 1...300 {
      try await open.credentials.save(
        NewCredential(key: CredentialKey(service: "\(number)"), secret: Secret(utf8: "old")))
    }
    let following = Task { await open.follow() }
    let admin = VaultAdmin(TestVault.admin, on: vault.engine.cluster, TestVault.options(1))
    let attempts = Atomic(0)
    let awaited = changes == .secondAnnouncement ? 2 : 1
    let noteBefore = try note(1)
    let cluster = vault.committing { commit throws(StorageError) in
      let isRoster = commit.puts.keys.contains(.roster(number: 2))
      let attempt = isRoster ? attempts.add(1, ordering: .relaxed).newValue : .max
      if attempt <= awaited {
        for _ in 0..<12_000 where made.withLock({ $0 == nil }) {
          try? await Task.sleep(for: .milliseconds(10))
        }
        guard let (copy, keys) = made.withLock(\.self) else {
          throw StorageError(.internal, "no copy is made ahead", outcome: .unchanged)
        }
        if attempt < awaited {
          made.withLock { $0 = nil }
          throw StorageError(.unavailable, "the cluster is away", outcome: .unchanged)
        }
        switch changes {
        case .ordinary, .secondAnnouncement: break
        case .ofRoster:
          _ = try await admin.add(
            .init(TestVault.machine(20).keys, .reader, name: "new"), note: noteBefore)
        case .damaging:
          let tag = keys.tag(of: CredentialKey(service: "300"))
          var state = try copy.state()
          state.sum -= keys.hash(of: try copy.row(tag)!)
          state.count -= 1
          try await copy.apply(CopyChange(rows: [tag: nil], state: state))
        }
        for service in ["1", "new", "newer"] {
          _ = try await open.credentials.save(
            NewCredential(key: CredentialKey(service: service), secret: Secret(utf8: "new")))
        }
        for service in ["2", "newer"] {
          _ = try await open.credentials.delete(CredentialKey(service: service))
        }
      }
      return try await vault.engine.cluster.commit(commit)
    }
    let machine = VaultAdmin(TestVault.admin, on: cluster, TestVault.options(1))
    if changes == .secondAnnouncement {
      await expect(.unavailable) {
        try await machine.beginGeneration(without: nil, note: noteBefore)
      }
    }
    _ = try await machine.beginGeneration(without: nil, note: noteBefore)
    await expect(.busy) { try await open.refresh() }
    let given = renew.withLock(\.self)
    let renewal = try #require(try await given?())
    await open.close()
    await following.value
    #expect((renewal.content == nil) == (changes != .damaging))
    let listed = try #require(
      try await SharedVault.renewal(
        after: note(1), on: vault.engine.cluster, TestVault.options(1)
      ) { _ in nil })
    try await EncryptedFile.replaceCopy(
      file, with: .init(master: renewal.master, storeID: renewal.storeID, epoch: renewal.epoch),
      renewal.content, note: renewal.note)
    let copy = try await EncryptedFile.openCopy(file)
    let rows = try await copy.rows()
    let expected = try #require(listed.content)
    #expect(Dictionary(rows.map { ($0.identity.tag, $0) }) { $1 } == expected.rows)
    #expect(try copy.state() == expected.state && rows.count == 300)
    await copy.storage.close()
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path).filter {
        $0.contains(".next") && !$0.hasSuffix(".lock")
      } == [])
  }
}
