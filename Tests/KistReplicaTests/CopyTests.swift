import Foundation
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

@Suite(.timeLimit(.minutes(5))) struct `The copy of a shared vault in a file` {
  private let directory = try! TemporaryDirectory()

  private func copied(_ byte: UInt8) throws -> EncryptedFile.CopiedVault {
    .init(
      master: try key(7), storeID: [UInt8](repeating: byte, count: 16), epoch: Epoch(9))
  }

  @Test func `stays as it was if the rows of a change do not lead to its state`() async throws {
    let vault = try await TestVault()
    let copy = try await EncryptedFile.openCopy(
      TestVault.file(1, in: directory), of: copied(5))
    let store = vault.keys.store
    var nonces = Nonces((0..<4).flatMap { _ in nonce() })
    let plan = try store.plan(
      SaveRequest(credential: .sample()),
      on: FoundRow(tag: store.tag(of: .sample), address: 0, row: nil), Header(copy.state()),
      at: .sample, &nonces)
    guard case .putRow(let row, _) = plan.writes[0] else { throw StorageError.notFound }
    let before = try copy.state()
    for wrong in [{ $0.count = 2 }, { $0.sum = .zero }, { $0.epoch = Epoch(8) }]
      as [(inout VaultState) -> Void]
    {
      var change = CopyChange(rows: [row.identity.tag: row], state: plan.header.vaultState)
      wrong(&change.state)
      let error = await expect(.corrupt) { try await copy.apply(change) }
      #expect(error?.outcome == .unchanged)
      #expect(try copy.state() == before)
      #expect(try copy.row(row.identity.tag) == nil)
    }
    try await copy.apply(
      CopyChange(rows: [row.identity.tag: row], state: plan.header.vaultState))
    #expect(try copy.row(row.identity.tag) == row)
    #expect(try await copy.tags() == [row.identity.tag])
    await copy.storage.close()
  }

  @Test func `is not opened as the copy of another vault`() async throws {
    let file = try TestVault.file(1, in: directory)
    await (try await EncryptedFile.openCopy(file, of: copied(5))).storage.close()
    await #expect(throws: StorageError.self) {
      try await EncryptedFile.openCopy(file, of: copied(6))
    }
    await (try await EncryptedFile.openCopy(file, of: copied(5))).storage.close()
  }

  @Test func `is complete if it has more changes than its note after a crash`() async throws {
    let vault = try await TestVault()
    let note = URL(filePath: directory("copy-1.db.vault"))
    let machine = try await vault.join(1, in: directory)
    let old = try Data(contentsOf: note)
    let saved = try await machine.credentials.save(.sample())
    await machine.close()
    try old.write(to: note)
    let offline = try await vault.open(1, in: directory, on: .unreachable)
    let status = offline.status()
    #expect(status.revision == saved.revision && status.head == saved.revision)
    #expect(status.isCopyComplete && status.problem == nil)
    await offline.close()
  }

  @Test func `is read while the cluster hides the first head of a new generation`() async throws {
    let vault = try await TestVault()
    let machine = try await vault.join(1, in: directory)
    try await machine.credentials.save(.sample())
    try await vault.beginGeneration()
    await expect(.corrupt) { try await machine.refresh() }
    let error = await expect(.corrupt) {
      try await machine.credentials.save(.sample(secret: "new"))
    }
    #expect(error?.outcome == .unchanged)
    #expect(try await machine.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await machine.close()
  }
}
