import KistCore
import KistFile
import KistTesting
import Testing

/// Copies of a store have new revisions, in the order of the old ones, because tools take the newest
/// account of a host, and several can be saved in the same second.
@Suite(.timeLimit(.minutes(5))) struct `The order of revisions` {
  let store = try! TestStore()
  let new = try! TestStore()
  private let keys = ["zoe", "mia", "eva", "bob", "anna", "kim"].map {
    CredentialKey(service: "host", account: $0)
  }

  private func keysInOrder(of store: TestStore) async throws -> [CredentialKey] {
    let storage = try await store.open()
    let found = try await storage.credentials.findAll()
    await storage.close()
    return found.sorted { $1.revision.isLater(than: $0.revision) == true }.map(\.key)
  }

  @Test func `stays when a backup is restored`() async throws {
    let passphrase = Secret(utf8: "of the backup")
    let opened = try await store.open()
    for key in keys { try await opened.credentials.save(.sample(key)) }
    let path = store.directory("backup")
    try await opened.backups.fetch(under: passphrase, to: path)
    await opened.close()
    _ = try EncryptedFile.restore(
      EncryptedFile.BackupFile(path: path, passphrase: { passphrase }),
      to: .init(path: new.path, keySource: .keyFile(path: new.keyPath)))
    #expect(try await keysInOrder(of: new) == keys)
  }

  @Test func `stays when the store gets a new key`() async throws {
    try await store.fill(keys.map { .sample($0) })
    _ = try EncryptedFile.rekey(
      .init(
        .init(path: store.path, keySource: .keyFile(path: store.keyPath)), keyFile: store.keyPath))
    #expect(try await keysInOrder(of: store) == keys)
  }
}
