import KistClient
import KistTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) final class `A watch that reconnects`: Sendable {
  private let slept = Mutex<[Duration]>([])
  private let lost = Mutex<[StorageError]>([])
  private let key = CredentialKey(service: "s")

  private func mark(_ number: UInt64) -> Revision { Revision(rawValue: "a.\(number)") }

  /// What is told where each watch is of these changes, and then lost; `nil` for one that fails.
  private func told(
    _ watches: [(position: Revision?, changes: [CredentialChange])?], end: StorageError
  ) async throws -> [CredentialChange] {
    let rest = Mutex(watches[...])
    let watch = WatchCredentials { request throws(StorageError) in
      #expect(request.service == "s")
      guard let next = rest.withLock({ $0.popFirst() }) else { throw end }
      guard let next else { throw StorageError(.unavailable, "not there") }
      let changes = Mutex(next.changes[...])
      return CredentialChanges(position: next.position) { () throws(StorageError) in
        guard let change = changes.withLock({ $0.popFirst() }) else {
          throw StorageError(.unavailable, "lost")
        }
        return change
      }
    }
    let changes = try await watch.reconnecting(
      sleep: { time in self.slept.withLock { $0.append(time) } },
      whenLost: { error in self.lost.withLock { $0.append(error) } })(service: "s")
    #expect(changes.position == watches[0]?.position)
    var told: [CredentialChange] = []
    do { for try await change in changes { told.append(change) } } catch {
      #expect(error == end)
    }
    return told
  }

  @Test func `tells of a reset where something may have been missed, and only there`() async throws
  {
    let told = try await told(
      [
        (mark(1), [.saved(key, mark(2))]), (mark(2), []), (mark(2), [.deleted(key, mark(3))]),
        (mark(3), [.reset]), (mark(3), [.saved(key, mark(4))]), (mark(5), []), (mark(5), []),
      ], end: .internal("x"))
    #expect(
      told == [
        .saved(key, mark(2)), .deleted(key, mark(3)), .reset, .reset, .saved(key, mark(4)), .reset,
      ])
    #expect(lost.withLock { $0.map(\.message) } == Array(repeating: "lost", count: 7))
  }

  @Test func `tells of a reset each time where the storage does not say where it stands`()
    async throws
  {
    let told = try await told([(nil, [.deleted(key, nil)]), (nil, []), (nil, [])], end: .notFound)
    #expect(told == [.deleted(key, nil), .reset, .reset])
  }

  @Test func `waits for longer each time, up to ten seconds`() async throws {
    _ = try await told([(nil, [])] + Array(repeating: nil, count: 10) + [(nil, [])], end: .notFound)
    let expected: [Duration] = [
      100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000,
    ]
    .map { .milliseconds($0) }
    #expect(slept.withLock { Array($0.prefix(11)) } == expected)
    #expect(lost.withLock(\.count) == 2)
  }

  @Test(arguments: [StorageError.notFound, .unknownOperation, .locked("x"), .internal("x")])
  func `ends where it would be in vain`(error: StorageError) async throws {
    #expect(try await told([(nil, [])], end: error).isEmpty)
  }

  @Test func `begins once`() async throws {
    let begun = Atomic(0)
    let watch = WatchCredentials { _ throws(StorageError) in
      begun.add(1, ordering: .relaxed)
      throw StorageError(.unavailable, "not there")
    }
    await expect(.unavailable) { try await watch.reconnecting()() }
    #expect(begun.load(ordering: .relaxed) == 1)
  }

  @Test func `ends with its task, also while it waits`() async throws {
    let watch = WatchCredentials { _ throws(StorageError) in
      CredentialChanges(position: nil) { () throws(StorageError) in
        throw StorageError(.unavailable, "lost")
      }
    }
    let changes = try await watch.reconnecting(sleep: { _ in throw CancellationError() })()
    #expect(try await changes.makeAsyncIterator().next() == nil)
  }
}
