import Deployment
import KistClient
import KistTesting
import Synchronization
import Testing

@Suite struct `A deployment` {
  /// Returns a storage with one closure.
  ///
  /// A call of another one fails the test and reports its name.
  private func storage(
    answering load: @escaping @Sendable (LoadRequest) throws(StorageError) -> Credential
  ) -> UserStorage {
    var storage = UserStorage.unimplemented
    storage.load = { request throws(StorageError) in try load(request) }
    return storage
  }

  @Test func `uploads with the token of its own credential`() async throws {
    let kept = UserStorage.inMemory()
    try await kept.save(
      NewCredential(
        key: CredentialKey(service: "deploy.example.org", account: "ci"), secret: Secret(utf8: "t"))
    )
    let uploads = Mutex<[String]>([])
    let deployment = Deployment(storage: kept) { version, token in
      #expect(token == Secret(utf8: "t"))
      uploads.withLock { $0.append(version) }
    }
    #expect(try await deployment.deploy("1.2") == .deployed)
    #expect(uploads.withLock(\.self) == ["1.2"])
  }

  @Test(arguments: [StorageError.notFound, .locked("the storage is locked")])
  func `uploads nothing without a token, and returns a command that helps`(error: StorageError)
    async throws
  {
    let deployment = Deployment(
      storage: storage { request throws(StorageError) in
        #expect(request.key.service == "deploy.example.org")
        throw error
      }
    ) { _, _ in Issue.record("something was uploaded") }
    guard case .postponed(let advice) = try await deployment.deploy("1.2") else {
      Issue.record("it was deployed")
      return
    }
    #expect(advice.contains("`kist "))
  }

  @Test func `throws if it is unknown whether a token is stored`() async {
    let deployment = Deployment(
      storage: storage { _ throws(StorageError) in throw StorageError(.unavailable, "no daemon") }
    ) { _, _ in Issue.record("something was uploaded") }
    await #expect(throws: StorageError.self) { try await deployment.deploy("1.2") }
  }
}
