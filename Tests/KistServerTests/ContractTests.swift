import KistClient
import KistCore
import KistFile
import KistServer
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(2))) struct `The contract over a socket` {
  @Test(arguments: UserStorageContract.all)
  func `a storage behind a server keeps the contract`(rule: UserStorageContract.Rule) async throws {
    let clock = ManualClock()
    try await check(rule, on: .inMemory(now: clock.now), clock)
  }

  @Test(arguments: UserStorageContract.all)
  func `the encrypted file behind a server keeps the contract`(
    rule: UserStorageContract.Rule
  ) async throws {
    try await withDirectory { directory in
      let clock = ManualClock()
      let store = try await EncryptedFile.open(
        .init(
          path: directory + "/data/credentials.db",
          keySource: .keyFile(path: directory + "/state/key"), now: clock.now))
      try await check(rule, on: store.credentials, clock)
      await store.close()
    }
  }

  @Test(.timeLimit(.minutes(5)), arguments: WatchContract.all)
  func `a watched storage behind a server keeps the contract`(
    rule: WatchContract.Rule
  ) async throws {
    let storage = OpenStorage.inMemory()
    try await withServer(serve: serve(storage)) { server in
      try await rule.check(
        .init(
          storage: .remote(socketPath: server.path), watch: .remote(socketPath: server.path)))
    }
  }

  private func check(
    _ rule: UserStorageContract.Rule, on storage: UserStorage, _ clock: ManualClock
  ) async throws {
    let hello = Hello(version: "0", durability: .memory)
    let answer = answer(with: dispatch(Endpoints(storage, .unimplemented, hello: { hello })))
    try await withServer(serve: { _, _ in answer }) { server in
      try await rule.check(
        .init(storage: .remote(socketPath: server.path), clock: clock) {
          .remote(socketPath: server.path)
        })
    }
  }
}
