import Dispatch
import KistCore
import KistFile
import KistTesting
import Testing

@Suite struct `A change that takes too long` {
  let store = try! TestStore()

  @Test func `is a timeout of unknown outcome, and goes on`() async throws {
    // The writer asks for the moment of each save, and is kept waiting there.
    let gate = DispatchSemaphore(value: 0)
    let opened = try await EncryptedFile.open(
      EncryptedFile.Options(
        path: store.path, keySource: .keyFile(path: store.keyPath),
        now: { [now = store.clock.now] in
          gate.wait()
          gate.signal()
          return now()
        }, deadline: .milliseconds(1)))
    while try await opened.access.status().integrity != .ok { await Task.yield() }

    let error = await #expect(throws: StorageError.self) {
      try await opened.credentials.save(.sample())
    }
    #expect(error?.code == .timeout)
    #expect(error?.outcome == .unknown)

    gate.signal()
    await opened.close()
    let again = try await store.open()
    #expect(try await again.credentials.load(.sample).secret == NewCredential.sample().secret)
    await again.close()
  }
}
