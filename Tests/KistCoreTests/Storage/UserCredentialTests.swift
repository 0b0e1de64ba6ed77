import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct UserCredentialTests {
  @Test func `a bound credential loads its own key`() async throws {
    var storage = UserStorage.unimplemented
    storage.load = { request throws(StorageError) in
      guard request == LoadRequest(key: .sample) else { throw .notFound }
      return Credential(summary: .sample(), secret: Secret(utf8: "its own"))
    }
    #expect(try await storage.bound(to: .sample).load() == Secret(utf8: "its own"))
  }

  @Test func `a bound credential saves under its own key, whether or not it exists`() async throws {
    var storage = UserStorage.unimplemented
    storage.save = { request throws(StorageError) in
      guard request == SaveRequest(credential: .sample(secret: "new")) else { throw .notFound }
      return .sample(revision: "k3f9.7")
    }
    let saved = try await storage.bound(to: .sample).save(Secret(utf8: "new"))
    #expect(saved.revision == Revision(rawValue: "k3f9.7"))
  }

  @Test(arguments: [true, false])
  func `a bound credential deletes its own key`(existed: Bool) async throws {
    var storage = UserStorage.unimplemented
    storage.delete = { request throws(StorageError) in
      guard request == DeleteRequest(key: .sample) else { throw .notFound }
      return existed
    }
    #expect(try await storage.bound(to: .sample).delete() == existed)
  }

  @Test func `two credentials of one storage are independent`() async throws {
    let storage = UserStorage.inMemory()
    let alice = storage.bound(to: CredentialKey(service: "example.org", account: "alice"))
    let bob = storage.bound(to: CredentialKey(service: "example.org", account: "bob"))
    _ = try await alice.save(Secret(utf8: "of Alice"))
    _ = try await bob.save(Secret(utf8: "of Bob"))
    #expect(try await bob.delete())
    #expect(try await alice.load() == Secret(utf8: "of Alice"))
    await #expect(throws: StorageError.notFound) { try await bob.load() }
  }
}
