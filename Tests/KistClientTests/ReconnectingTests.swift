import KistClient
import KistTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) final class `A watch that reconnects`: Sendable {
  private let slept = Mutex<[Duration]>([])
  private let lost = Mutex<[StorageError]>([])
  private let key = CredentialKey(service: "s")

  private func mark(_ number: UInt64) -> Revision { Revision(rawValue: "a.\(number)") }

  /// Returns the reported changes if each watch has these changes and is then lost; `nil` is a watch
  /// that fails.
  private func reported(
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
    var reported: [CredentialChange] = []
    do { for try await change in changes { reported.append(change) } } catch {
      #expect(error == end)
    }
    return reported
  }

  @Test func `reports a reset only if changes may have been missed`() async throws {
    let reported = try await reported(
      [
        (mark(1), [.saved(key, mark(2))]), (mark(2), []), (mark(2), [.deleted(key, mark(3))]),
        (mark(3), [.reset]), (mark(3), [.saved(key, mark(4))]), (mark(5), []), (mark(5), []),
      ], end: .internal("x"))
    #expect(
      reported == [
        .saved(key, mark(2)), .deleted(key, mark(3)), .reset, .reset, .saved(key, mark(4)), .reset,
      ])
    #expect(lost.withLock { $0.map(\.message) } == Array(repeating: "lost", count: 7))
  }

  @Test func `reports a reset each time if the storage has no position`()
    async throws
  {
    let reported = try await reported(
      [(nil, [.deleted(key, nil)]), (nil, []), (nil, [])], end: .notFound)
    #expect(reported == [.deleted(key, nil), .reset, .reset])
  }

  @Test func `waits longer each time, up to ten seconds`() async throws {
    _ = try await reported(
      [(nil, [])] + Array(repeating: nil, count: 10) + [(nil, [])], end: .notFound)
    let expected: [Duration] = [
      100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000,
    ]
    .map { .milliseconds($0) }
    #expect(slept.withLock { Array($0.prefix(11)) } == expected)
    #expect(lost.withLock(\.count) == 2)
  }

  @Test(arguments: [StorageError.notFound, .unknownOperation, .locked("x"), .internal("x")])
  func `ends if another attempt cannot succeed`(error: StorageError) async throws {
    #expect(try await reported([(nil, [])], end: error).isEmpty)
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
