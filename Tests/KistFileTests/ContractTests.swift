import KistCore
import KistFile
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The encrypted file` {
  @Test(arguments: UserStorageContract.all)
  func `keeps the contract`(rule: UserStorageContract.Rule) async throws {
    try await check(rule) { $0 }
  }

  @Test(arguments: UserStorageContract.all)
  func `keeps the contract behind lines`(rule: UserStorageContract.Rule) async throws {
    try await check(rule) { storage in
      let hello = Hello(version: "0", durability: .disk)
      let serve = answer(with: dispatch(Endpoints(storage, .unimplemented, hello: { hello })))
      return Endpoints.remote(over: exchange(over: { line in await serve(line) })).credentials
    }
  }

  @Test(.timeLimit(.minutes(5)), arguments: WatchContract.all)
  func `keeps the contract with watchers`(rule: WatchContract.Rule) async throws {
    let directory = try TemporaryDirectory()
    let store = try await EncryptedFile.open(
      .init(path: directory("credentials.db"), keySource: .keyFile(path: directory("key"))))
    try await rule.check(.init(storage: store.credentials, watch: store.watch))
    await store.close()
  }

  private func check(
    _ rule: UserStorageContract.Rule, _ decorate: (UserStorage) -> UserStorage
  ) async throws {
    let clock = ManualClock()
    let directory = try TemporaryDirectory()
    let store = try await EncryptedFile.open(
      .init(
        path: directory("credentials.db"), keySource: .keyFile(path: directory("key")),
        now: clock.now))
    try await rule.check(.init(storage: decorate(store.credentials), clock: clock))
    await store.close()
  }
}
