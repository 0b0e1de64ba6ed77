import Dispatch
import KistClient
import KistCore
import KistFile
import KistServer
import KistSodium
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(2))) struct `A backup over a socket` {
  @Test func `is answered while it is being made, so that no client gives up`()
    async throws
  {
    try await withDirectory { directory in
      let isSlow = DispatchSemaphore(value: 0)
      var options = EncryptedFile.Options(
        path: directory + "/data/credentials.db",
        keySource: .keyFile(path: directory + "/state/key"), passphraseCost: .least)
      options.backupPace.wait = .milliseconds(10)
      let original = try await EncryptedFile.open(options)
      try await original.credentials.save(.sample())
      await original.close()
      // What seals the copy of the credential is kept waiting.
      options.nonces = { count in
        isSlow.wait()
        isSlow.signal()
        return randomBytes(count * SymmetricKey.nonceSize)
      }
      let store = try await EncryptedFile.open(options)
      let dispatch = dispatch(Endpoints(serving: store))
      try await withServer(serve: { _, _ in answer(with: dispatch) }) { server in
        let client = Backups.remote(socketPath: server.path)
        var answers = 0
        let backup = try await client.make(under: Secret(utf8: "of the backup")) { done, _ in
          #expect(done == 0)
          answers += 1
          if answers == 3 { isSlow.signal() }
        }
        #expect(backup.count == 1)
        let part = try await client.read(BackupPart(of: backup.id, from: 0))
        #expect(part.count == backup.size)
      }
      await store.close()
    }
  }
}
