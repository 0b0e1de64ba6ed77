import KistCore
import KistTesting
import Synchronization
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(5))) struct `A storage that is locked when it is idle` {
  @Test func `is locked once, even if no request has come since it was opened`() async {
    let (locks, lock) = AsyncStream.makeStream(of: Void.self)
    let storage = open { lock.yield() }.lockingWhenIdle(after: .milliseconds(1))
    for await _ in locks { break }
    withExtendedLifetime(storage) {}
  }

  @Test func `is locked again after an unlock, and after a request for a credential`()
    async throws
  {
    let (locks, lock) = AsyncStream.makeStream(of: Void.self)
    let storage = open { lock.yield() }.lockingWhenIdle(after: .milliseconds(1))
    var times = locks.makeAsyncIterator()
    await times.next()
    _ = try await storage.access.unlock(nil)
    await times.next()
    for request in [
      { _ = try await storage.credentials.save(.sample()) },
      { _ = try await storage.credentials.load(.sample) },
      { _ = try await storage.credentials.find(CredentialQuery()) },
      { _ = try await storage.credentials.delete(.sample) },
      { _ = try? await storage.backups.make(.poll(id: "backup")) },
    ] {
      try await request()
      await times.next()
    }
  }

  @Test func `is not kept open by status requests`() async throws {
    let (locks, lock) = AsyncStream.makeStream(of: Void.self)
    let storage = open { lock.yield() }.lockingWhenIdle(after: .milliseconds(50))
    let asking = Task {
      while !Task.isCancelled {
        _ = try await storage.access.status()
        await Task.yield()
      }
    }
    for await _ in locks { break }
    asking.cancel()
  }

  @Test func `is not kept open by watchers`() async throws {
    let (locks, lock) = AsyncStream.makeStream(of: Void.self)
    var storage = open { lock.yield() }
    storage.watch = OpenStorage.inMemory().watch
    let locking = storage.lockingWhenIdle(after: .milliseconds(50))
    let watching = Task {
      while !Task.isCancelled {
        _ = try await locking.watch()
        await Task.yield()
      }
    }
    for await _ in locks { break }
    watching.cancel()
  }

  private func open(whenLocked: @escaping @Sendable () -> Void) -> OpenStorage {
    let status = StorageStatus(
      storage: "memory", isLocked: false, reopensAtRestart: false, durability: .memory,
      keyProtection: "there is no key")
    return OpenStorage(
      credentials: .inMemory(),
      access: StorageAccess(
        status: { () throws(StorageError) in status },
        lock: { () throws(StorageError) in
          whenLocked()
          return status
        },
        unlock: { _ throws(StorageError) in status }),
      durability: .memory, close: {})
  }
}
