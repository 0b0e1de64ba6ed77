import Dispatch
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A change that takes too long` {
  let store = try! TestStore()

  @Test func `is a timeout of unknown outcome, and continues`() async throws {
    let gate = DispatchSemaphore(value: 0)
    let opened = try await openKeptWaiting(at: gate)
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

  @Test func `of the key slots is in the status once it is carried out`() async throws {
    let passphrase = Secret(utf8: "correct horse")
    let opened = try await store.open()
    _ = try await opened.keySlots.add(
      KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    await opened.close()
    let gate = DispatchSemaphore(value: 0)
    let slow = try await openKeptWaiting(at: gate)
    while try await slow.access.status().integrity != .ok { await Task.yield() }
    await expect(.timeout) { try await slow.credentials.save(.sample()) }
    let error = await expect(.timeout) {
      try await slow.keySlots.remove(KeySlotRemoval(number: 1, current: passphrase))
    }
    #expect(error?.outcome == .unknown)
    #expect(try await slow.access.status().unlocksWith == .keyFile)
    gate.signal()
    while try await slow.keySlots.list().count > 1 { await Task.yield() }
    #expect(try await slow.access.status().unlocksWith == .passphrase)
    await slow.close()
  }

  /// The writer asks for the moment of each save, and is kept waiting there.
  private func openKeptWaiting(at gate: DispatchSemaphore) async throws -> OpenStorage {
    try await EncryptedFile.open(
      EncryptedFile.Options(
        path: store.path, keySource: .keyFile(path: store.keyPath),
        now: { [now = store.clock.now] in
          gate.wait()
          gate.signal()
          return now()
        }, deadline: .milliseconds(1)))
  }
}
