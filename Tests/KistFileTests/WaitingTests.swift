import Foundation
import KistCore
import KistSodium
import KistTesting
import Testing

@testable import KistFile
@testable import KistVault

/// A check is begun, ended and awaited at will here, which no face of the store allows.
@Suite(.timeLimit(.minutes(10))) struct `Waiting for the check` {
  let store = try! TestStore()

  @Test func `ends at the deadline with a timeout`() async throws {
    let check = try await makeCheck()
    await expect(.timeout) { try await check.settle(within: .milliseconds(1)) }
    #expect(check.integrity == .checking)
  }

  @Test func `ends with the check, for every request`() async throws {
    let check = try await makeCheck()
    try await withThrowingTaskGroup { group in
      for _ in 0..<10 { group.addTask { try await check.settle(within: .seconds(60)) } }
      check.start()
      try await group.waitForAll()
    }
    #expect(check.integrity == .ok)
  }

  @Test func `ends with the reason for which the check is cancelled`() async throws {
    let check = try await makeCheck()
    async let waiting = expect(.locked) { try await check.settle(within: .seconds(60)) }
    await check.cancel(.locked("the storage is locked"))
    _ = await waiting
    await expect(.locked) { try await check.settle(within: .seconds(60)) }
  }

  @Test(.timeLimit(.minutes(5)))
  func `for a check that is cancelled does not block a thread until a slow read ends`() async throws
  {
    let check = try await makeCheck()
    // Who opens a pipe to read it waits until somebody opens it to write.
    try FileManager.default.removeItem(atPath: store.path)
    #expect(unsafe mkfifo(store.path, 0o600) == 0)
    check.start()
    let cancelling = Task.immediate { await check.cancel(.locked("the storage is locked")) }
    try FileHandle(forWritingTo: URL(filePath: store.path)).close()
    await cancelling.value
    #expect(check.integrity == .failed)
  }

  @Test func `continues through a pause of the check`() async throws {
    let check = try await makeCheck()
    check.start()
    check.pause()
    check.start()
    try await check.settle(within: .seconds(60))
  }

  @Test func `starts the check again after an error of the disk`()
    async throws
  {
    let check = try await makeCheck()
    let elsewhere = store.path + ".elsewhere"
    try FileManager.default.moveItem(atPath: store.path, toPath: elsewhere)
    check.start()
    await expect(.unavailable) { try await check.settle(within: .seconds(60)) }
    #expect(check.integrity == .checking)
    try FileManager.default.moveItem(atPath: elsewhere, toPath: store.path)
    try await check.settle(within: .seconds(60))
    #expect(check.integrity == .ok)
  }

  /// A check of a store that has not begun.
  private func makeCheck() async throws -> IntegrityCheck {
    try await store.fill(threeCredentials)
    let connection = Connection(path: store.path, readonly: false, cacheKibibytes: 64)
    try connection.open()
    let keys = try connection.use { database throws(StorageError) in
      let id = try database.storeRow().id
      let slots = try database.slots(storeID: id)
      let master = try masterKey(from: .keyFile(path: store.keyPath), slots, storeID: id)
      return try StoreKeys(master: master, storeID: id)
    }
    connection.close()
    return IntegrityCheck(
      of: store.path, keys: keys, Connections(path: store.path, storeID: nil))
  }
}

extension IntegrityCheck {
  fileprivate func settle(within time: Duration) async throws(StorageError) {
    try await settle(within: DeadlineWatch(time) { try? await Task.sleep(for: $0) })
  }
}
