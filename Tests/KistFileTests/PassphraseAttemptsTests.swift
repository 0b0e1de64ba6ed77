import KistCore
import KistTesting
import KistVault
import Synchronization
import Testing

@testable import KistFile

@Suite(.timeLimit(.minutes(5))) struct `Attempts with a passphrase` {
  let tried = Secret(utf8: "hunter2")

  @Test func `are answered later each time one was wrong, until one is right`() async throws {
    let delays = Mutex<[Duration]>([])
    let attempts = PassphraseAttempts(sleep: { delay in delays.withLock { $0.append(delay) } })
    func fail(_ times: Int, with error: StorageError) async {
      for _ in 0..<times {
        await expect(error.code) {
          try await attempts.make(with: tried) { () throws(StorageError) in throw error }
        }
        await attempts.holdBack(error)
      }
    }
    await fail(6, with: .wrongPassphrase)
    try await attempts.make(with: tried) {}
    await fail(2, with: .wrongPassphrase)
    await fail(2, with: .corrupt("another error says nothing of the passphrase"))
    // Nor does what went well without one, as where a key file opens the store.
    try await attempts.make(with: nil) {}
    await fail(1, with: .wrongPassphrase)
    #expect(delays.withLock(\.self) == [1, 2, 4, 8, 16, 16, 1, 2, 4].map { .seconds($0) })
  }

  @Test func `are busy while the answer to a wrong one is delayed`() async throws {
    let (releases, release) = AsyncStream.makeStream(of: Void.self)
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let attempts = PassphraseAttempts(sleep: { _ in
      begin.yield()
      for await _ in releases { break }
    })
    await expect(.wrongPassphrase) {
      try await attempts.make(with: tried) { () throws(StorageError) in throw .wrongPassphrase }
    }
    async let heldBack: Void = attempts.holdBack(.wrongPassphrase)
    for await _ in begun { break }
    await expect(.busy) { try await attempts.make(with: tried) {} }
    // Nor does another error wait for it.
    await attempts.holdBack(.notFound)
    release.yield()
    await heldBack
    try await attempts.make(with: tried) {}
  }

  @Test func `keep their count when the store is opened again`() async throws {
    let store = try TestStore()
    let delays = Mutex<[Duration]>([])
    let (releases, release) = AsyncStream.makeStream(of: Void.self)
    let attempts = PassphraseAttempts(sleep: { delay in
      delays.withLock { $0.append(delay) }
      for await _ in releases { break }
    })
    let options = EncryptedFile.Options(
      path: store.path, keySource: .keyFile(path: store.keyPath), attempts: attempts)
    for _ in 0..<3 {
      let opened = try await EncryptedFile.open(options)
      await expect(.wrongPassphrase) { try await opened.access.unlock(tried) }
      // Closing does not wait for the answer that is held back, nor does it let another one be tried.
      await opened.close()
      let again = try await EncryptedFile.open(options)
      await expect(.busy) { try await again.access.unlock(tried) }
      release.yield()
      await attempts.holdBack(.wrongPassphrase)
      await again.close()
    }
    #expect(delays.withLock(\.self) == [1, 2, 4].map { .seconds($0) })
  }
}
