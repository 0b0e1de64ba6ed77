import KistCore
import KistTesting
import Testing

@testable import KistDaemon

@Suite struct `What the daemon adds to a status` {
  @Test func `the reason and the seconds since the start, each time`() async throws {
    let bare = StorageStatus(
      storage: "memory", isLocked: false, reopensAtRestart: true, durability: .memory,
      keyProtection: "none")
    let access = StorageAccess(
      status: { () throws(StorageError) in bare }, lock: { () throws(StorageError) in bare },
      unlock: { _ throws(StorageError) in bare }
    ).reporting(reason: "because", since: .now - .seconds(100))
    for status in [
      try await access.status(), try await access.lock(), try await access.unlock(nil),
    ] {
      #expect(status.reason == "because")
      #expect(try #require(status.uptime) >= 100)
      #expect(status.storage == "memory")
    }
  }
}
