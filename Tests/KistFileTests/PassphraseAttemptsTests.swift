import KistCore
import KistTesting
import Synchronization
import Testing

@testable import KistFile

@Suite struct `Attempts with a passphrase` {
  let tried = Secret(utf8: "hunter2")

  @Test func `are answered later each time one was wrong, until one is right`() async throws {
    let delays = Mutex<[Duration]>([])
    let attempts = PassphraseAttempts(sleep: { delay in delays.withLock { $0.append(delay) } })
    func fail(_ times: Int, with error: StorageError) async {
      for _ in 0..<times {
        await expect(error.code) {
          try await attempts.make(with: tried) { () throws(StorageError) in throw error }
        }
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

  @Test func `are busy while the answer to a wrong one is held back`() async throws {
    let (releases, release) = AsyncStream.makeStream(of: Void.self)
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let attempts = PassphraseAttempts(sleep: { _ in
      begin.yield()
      for await _ in releases { break }
    })
    async let wrong = expect(.wrongPassphrase) {
      try await attempts.make(with: tried) { () throws(StorageError) in throw .wrongPassphrase }
    }
    for await _ in begun { break }
    await expect(.busy) { try await attempts.make(with: tried) {} }
    release.yield()
    _ = await wrong
    try await attempts.make(with: tried) {}
  }
}
