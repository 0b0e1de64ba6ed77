import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct ExpiryTests {
  private static func storage(expiresAt: Timestamp?, now: Timestamp = .sample) -> UserStorage {
    var storage = UserStorage.unimplemented
    storage.load = { _ throws(StorageError) in
      Credential(
        summary: .sample(of: .sample(expiresAt: expiresAt)), secret: Secret(utf8: "secret"))
    }
    return storage.enforcingLimits(now: { now })
  }

  @Test(arguments: [nil, Timestamp.sample.advanced(bySeconds: 1)])
  func `a load before its time passes`(expiresAt: Timestamp?) async throws {
    let loaded = try await Self.storage(expiresAt: expiresAt).load(.sample)
    #expect(loaded.secret == Secret(utf8: "secret"))
  }

  @Test(arguments: [0, -1, -86_400] as [Int64])
  func `a load at or after its time is expired, and names it`(seconds: Int64) async throws {
    let expiresAt = try #require(Timestamp.sample.advanced(bySeconds: seconds))
    await #expect(throws: StorageError.expired(at: expiresAt)) {
      try await Self.storage(expiresAt: expiresAt).load(.sample)
    }
    let allowed = LoadRequest(key: .sample, allowExpired: true)
    #expect(
      try await Self.storage(expiresAt: expiresAt).load(allowed).summary.expiresAt == expiresAt)
  }

  @Test func `an error of the storage passes through`() async {
    var storage = UserStorage.unimplemented
    storage.load = { _ throws(StorageError) in throw .locked("it is locked") }
    let expiring = storage.enforcingLimits(now: Timestamp.now)
    await #expect(throws: StorageError.locked("it is locked")) { try await expiring.load(.sample) }
  }
}
