import Dispatch
import KistCore
import KistSodium
import KistTesting
import Testing

@testable import KistFile

@Suite(.timeLimit(.minutes(5))) struct `A backup that takes long` {
  let store = try! TestStore()
  let passphrase = Secret(utf8: "of the backup")

  @Test func `reports its progress until it is finished, and cannot be read before`() async throws {
    let permits = DispatchSemaphore(value: 0)
    let opened = try await openKeptWaiting(for: permits, .init(wait: .milliseconds(1)))
    let id = try await opened.backups.make(.begin(passphrase: passphrase)).id
    // The slot may be sealed, and no credential.
    permits.signal()
    while try await opened.backups.make(.poll(id: id)) != .copied(0, of: 3, id: id) {}
    await expect(.busy) { try await opened.backups.read(BackupPart(of: id, from: 0)) }
    await expect(.busy) { try await opened.backups.make(.begin(passphrase: passphrase)) }
    await expect(.unavailable) { try await opened.backups.make(.poll(id: "another")) }
    for _ in 0..<100 { permits.signal() }
    var progress = try await opened.backups.make(.poll(id: id))
    while case .copied = progress { progress = try await opened.backups.make(.poll(id: id)) }
    // Asked again, it is what it was.
    #expect(try await opened.backups.make(.poll(id: id)) == progress)
    guard case .made(let backup) = progress else { return }
    #expect(backup.count == 3)
    #expect(try await opened.backups.read(BackupPart(of: id, from: 0)).count == backup.size)
    await expect(.unavailable) { try await opened.backups.make(.poll(id: id)) }
    await opened.close()
  }

  @Test func `that no client asks for any more is given up, and leaves no file`()
    async throws
  {
    let permits = DispatchSemaphore(value: 0)
    let opened = try await openKeptWaiting(
      for: permits, .init(wait: .milliseconds(1), patience: .zero))
    let id = try await opened.backups.make(.begin(passphrase: passphrase)).id
    // This waits for nothing, and so leaves it alone in between.
    while await code({ try await opened.backups.read(BackupPart(of: id, from: 0)) }) == .busy {
      await Task.yield()
    }
    await expect(.unavailable) { try await opened.backups.make(.poll(id: id)) }
    // The slot may be sealed, and no credential: whoever went on would wait for ever.
    permits.signal()
    while await code({ try await opened.backups.make(.begin(passphrase: passphrase)) }) == .busy {
      await Task.yield()
    }
    #expect(try store.names().isDisjoint(with: ["credentials.db.backup"]))
    for _ in 0..<100 { permits.signal() }
    await opened.close()
  }

  @Test func `that is finished and that no client asks for is discarded`() async throws {
    let permits = DispatchSemaphore(value: 0)
    for _ in 0..<100 { permits.signal() }
    let opened = try await openKeptWaiting(for: permits, .init(patience: .zero))
    let id = try await opened.backups.make(.begin(passphrase: passphrase)).id
    while await code({ try await opened.backups.make(.poll(id: id)) }) == nil { await Task.yield() }
    await expect(.unavailable) { try await opened.backups.read(BackupPart(of: id, from: 0)) }
    await opened.close()
  }

  /// Opens the store of three credentials, in which nothing is sealed without a permit.
  private func openKeptWaiting(
    for permits: DispatchSemaphore, _ pace: BackupPace
  ) async throws -> OpenStorage {
    try await store.fill(threeCredentials)
    var options = EncryptedFile.Options(
      path: store.path, keySource: .keyFile(path: store.keyPath), passphraseCost: .least)
    options.backupPace = pace
    options.nonces = { count in
      permits.wait()
      return randomBytes(count * SymmetricKey.nonceSize)
    }
    return try await EncryptedFile.open(options)
  }

  /// What a request fails with, if it does.
  private func code<Answer>(_ ask: () async throws -> Answer) async -> StorageError.Code? {
    do {
      _ = try await ask()
      return nil
    } catch { return (error as? StorageError)?.code }
  }
}

extension BackupProgress {
  var id: String {
    switch self {
    case .copied(_, _, let id): id
    case .made(let backup): backup.id
    }
  }
}
