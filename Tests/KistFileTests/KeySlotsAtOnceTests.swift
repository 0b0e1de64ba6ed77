import Dispatch
import KistCore
import KistFile
import KistSodium
import KistTesting
import Testing

/// Which slots there are is known when a change of them is decided on, and it is carried out later.
@Suite(.timeLimit(.minutes(5))) struct `Two changes of key slots at once` {
  enum Change: Sendable {
    case add(String)
    case remove(Int, current: Secret?)

    func carryOut(on slots: KeySlots, key: Secret) async throws -> [KeySlotSummary] {
      switch self {
      case .add(let text):
        try await slots.add(KeySlotAddition(passphrase: Secret(utf8: text), currentKey: key))
      case .remove(let number, let current):
        try await slots.remove(
          KeySlotRemoval(
            number: number, current: current, currentKey: current == nil ? key : nil))
      }
    }
  }

  let store = try! TestStore()
  static let passphrase = Secret(utf8: "correct horse battery staple")

  /// Two changes, and how many slots there are after the first.
  static let pairs: [([Change], Int)] = [
    ([.remove(1, current: passphrase), .remove(2, current: nil)], 1),
    ([.add("the first"), .add("the second")], 3),
  ]

  @Test(arguments: pairs)
  func `that were decided on the same slots are not both carried out`(
    changes: [Change], slotsAfterOne: Int
  ) async throws {
    let made = try await store.open()
    _ = try await made.keySlots.add(
      KeySlotAddition(passphrase: Self.passphrase, currentKey: store.key()))
    await made.close()

    // The writer asks for the moment of a save, and is kept waiting there.
    let gate = DispatchSemaphore(value: 0)
    let (savings, saving) = AsyncStream.makeStream(of: Void.self)
    let opened = try await EncryptedFile.open(
      EncryptedFile.Options(
        path: store.path, keySource: .keyFile(path: store.keyPath),
        now: { [now = store.clock.now] in
          saving.yield()
          gate.wait()
          return now()
        }, passphraseCost: .least))
    async let saved = opened.credentials.save(.sample())
    for await _ in savings { break }
    let (first, second) = (
      await decide(changes[0], on: opened), await decide(changes[1], on: opened)
    )
    gate.signal()

    #expect(try await first.value.count == slotsAfterOne)
    let error = await expect(.busy) { try await second.value }
    #expect(error?.outcome == .unchanged)
    #expect(try await opened.keySlots.list().count == slotsAfterOne)
    _ = try await saved
    await opened.close()
    let again = try await store.open()
    _ = try await again.access.unlock(Self.passphrase)
    #expect(try await again.credentials.load(.sample).secret == NewCredential.sample().secret)
    await again.close()
  }

  /// Begins a change, and returns when it is decided on: an attempt to unlock is `busy` until then.
  private func decide(
    _ change: Change, on opened: OpenStorage
  ) async -> Task<[KeySlotSummary], any Error> {
    let task = Task.immediate { [store] in
      try await change.carryOut(on: opened.keySlots, key: store.key())
    }
    while (try? await opened.access.unlock(nil)) == nil { await Task.yield() }
    return task
  }
}
