import KistCore
import KistTesting
import Testing

/// The sizes themselves are rules of the contract; here it is that nothing of what exceeds them
/// reaches the storage behind: one that is unimplemented would fail the test.
@Suite(.timeLimit(.minutes(5))) struct LimitsTests {
  private static let keys = [
    CredentialKey(service: ""), CredentialKey(service: "a\0"),
    CredentialKey(service: "a", account: "\n"),
    CredentialKey(service: String(repeating: "a", count: 1025)),
  ]

  @Test(arguments: keys)
  func `a request with a key that is refused reaches no storage`(key: CredentialKey) async {
    let storage = UserStorage.unimplemented.enforcingLimits(now: Timestamp.now)
    await #expect(throws: StorageError.self) { try await storage.load(key) }
    let saving = await #expect(throws: StorageError.self) { try await storage.save(.sample(key)) }
    let deleting = await #expect(throws: StorageError.self) { try await storage.delete(key) }
    #expect(saving?.outcome == .unchanged)
    #expect(deleting?.outcome == .unchanged)
    await #expect(throws: StorageError.self) {
      try await storage.find(CredentialQuery(service: key.service, account: key.account))
    }
  }

  @Test func `a credential that is refused reaches no storage`() async {
    let storage = UserStorage.unimplemented.enforcingLimits(now: Timestamp.now)
    let refused: [NewCredential] = [
      .sample(label: "a\u{1B}"), .sample(label: String(repeating: "a", count: 1025)),
      .sample(attributes: ["": ""]), .sample(secret: String(repeating: "a", count: 524_289)),
    ]
    for credential in refused {
      let error = await #expect(throws: StorageError.self) { try await storage.save(credential) }
      #expect(error?.outcome == .unchanged)
    }
  }

  @Test func `a query that is refused reaches no storage`() async {
    let storage = UserStorage.unimplemented.enforcingLimits(now: Timestamp.now)
    for query in [CredentialQuery(limit: 0), .init(limit: 1001), .init(attributes: ["\u{85}": ""])]
    {
      await #expect(throws: StorageError.self) { try await storage.find(query) }
    }
  }

  @Test func `a request within the limits is passed on unchanged`() async throws {
    var storage = UserStorage.unimplemented
    storage.delete = { request throws(StorageError) in
      request == DeleteRequest(key: .sample, ifRevision: Revision(rawValue: "k3f9.1"))
    }
    storage.find = { query throws(StorageError) in
      CredentialPage(credentials: [], next: query.after)
    }
    let limited = storage.enforcingLimits(now: Timestamp.now)
    #expect(
      try await limited.delete(
        DeleteRequest(key: .sample, ifRevision: Revision(rawValue: "k3f9.1"))))
    #expect(try await limited.find(CredentialQuery(after: "cursor")).next == "cursor")
  }

  @Test func `an excess is reported before locked`() async {
    var storage = UserStorage.unimplemented
    storage.load = { _ throws(StorageError) in throw .locked("it is locked") }
    let limited = storage.enforcingLimits(now: Timestamp.now)
    await #expect(throws: StorageError.badRequest("the service is empty")) {
      try await limited.load(CredentialKey(service: ""))
    }
    await #expect(throws: StorageError.locked("it is locked")) { try await limited.load(.sample) }
  }
}
