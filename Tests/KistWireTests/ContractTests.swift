import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct ContractTests {
  @Test(arguments: UserStorageContract.all)
  func `a storage behind messages keeps the contract`(
    rule: UserStorageContract.Rule
  ) async throws {
    let clock = ManualClock()
    try await rule.check(.init(storage: .inMemory(behind: 0, now: clock.now), clock: clock))
  }

  @Test(arguments: UserStorageContract.all)
  func `a storage behind lines keeps the contract`(rule: UserStorageContract.Rule) async throws {
    let clock = ManualClock()
    try await rule.check(.init(storage: .inMemory(behind: 1, now: clock.now), clock: clock))
  }

  @Test(arguments: UserStorageContract.all)
  func `a storage behind two servers in a row keeps the contract`(
    rule: UserStorageContract.Rule
  ) async throws {
    let clock = ManualClock()
    try await rule.check(.init(storage: .inMemory(behind: 2, now: clock.now), clock: clock))
  }

  @Test(.timeLimit(.minutes(5)), arguments: WatchContract.all)
  func `a watched storage behind lines keeps the contract`(
    rule: WatchContract.Rule
  ) async throws {
    let storage = OpenStorage.inMemory()
    try await rule.check(.init(storage: storage.credentials, watch: .behindLines(storage.watch)))
  }
}
