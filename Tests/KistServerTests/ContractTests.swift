import KistClient
import KistCore
import KistServer
import KistTesting
import KistWire
import Testing

@Suite struct `The contract over a socket` {
  @Test(arguments: UserStorageContract.all)
  func `a storage behind a server keeps the contract`(rule: UserStorageContract.Rule) async throws {
    let clock = ManualClock()
    let answer = answer(
      with: dispatch(
        .inMemory(now: clock.now), .unimplemented,
        hello: Hello(version: "0", durability: .memory)))
    try await withServer(serve: { _ in answer }) { server in
      try await rule.check(.init(storage: .remote(socketPath: server.path), clock: clock))
    }
  }
}
