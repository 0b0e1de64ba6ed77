import KistCore
import KistTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The deadline` {
  @Test func `a save without an answer is a timeout of unknown outcome, and continues`()
    async throws
  {
    let storage = UserStorage.inMemory()
    let (release, releasing) = AsyncStream.makeStream(of: Void.self)
    let (saves, saved) = AsyncStream.makeStream(of: Void.self)
    var slow = storage
    slow.save = { request throws(StorageError) in
      for await _ in release { break }
      defer { saved.yield() }
      return try await storage.save(request)
    }
    let hurried = slow.withDeadline(.milliseconds(1), sleep: { try? await Task.sleep(for: $0) })
    let error = await #expect(throws: StorageError.self) {
      try await hurried.save(NewCredential(key: .sample, secret: Secret(utf8: "x")))
    }
    #expect(error?.code == .timeout)
    #expect(error?.outcome == .unknown)

    releasing.yield()
    for await _ in saves { break }
    #expect(try await storage.load(.sample).secret == Secret(utf8: "x"))
  }

  @Test func `a delete has an outcome, too, and a search has none`() async throws {
    var storage = UserStorage.unimplemented
    storage.delete = { _ throws(StorageError) in
      await forever()
      return true
    }
    storage.find = { _ throws(StorageError) in
      await forever()
      return CredentialPage(credentials: [])
    }
    let hurried = storage.withDeadline(.milliseconds(1), sleep: { try? await Task.sleep(for: $0) })
    let deleting = await #expect(throws: StorageError.self) { try await hurried.delete(.sample) }
    #expect(deleting?.code == .timeout)
    #expect(deleting?.outcome == .unknown)
    let finding = await #expect(throws: StorageError.self) {
      try await hurried.find(CredentialQuery())
    }
    #expect(finding?.code == .timeout)
    #expect(finding?.outcome == nil)
  }

  @Test(.timeLimit(.minutes(5)))
  func `an operation that began earlier expires first`() async {
    let (sleeps, sleep) = AsyncStream.makeStream(of: Void.self)
    let watch = DeadlineWatch(
      .seconds(3600),
      sleep: {
        sleep.yield()
        try? await Task.sleep(for: $0)
      })
    let (held, hold) = AsyncStream.makeStream(of: (@Sendable () -> Void).self)
    async let later = watch.over(outcome: nil) { answer in hold.yield { answer(.success(1)) } }
    var release = held.makeAsyncIterator()
    let answerLater = await release.next()
    // A timer that was not asleep yet would see both.
    for await _ in sleeps { break }
    let error = await #expect(throws: StorageError.self) {
      _ = try await watch.over(outcome: .unknown, since: .now - .seconds(3600)) {
        (_: @escaping @Sendable (Result<Int, StorageError>) -> Void) in
      }
    }
    #expect(error?.code == .timeout)
    answerLater?()
    #expect((try? await later) == 1)
  }

  @Test(arguments: UserStorageContract.all)
  func `a storage with a deadline keeps the contract`(rule: UserStorageContract.Rule) async throws {
    let clock = ManualClock()
    try await rule.check(
      .init(
        storage: .inMemory(now: clock.now).withDeadline(
          .seconds(60), sleep: { try? await Task.sleep(for: $0) }), clock: clock))
  }
}

/// Waits until the test is over.
private func forever() async {
  let (never, continuation) = AsyncStream.makeStream(of: Void.self)
  for await _ in never {}
  continuation.finish()
}
