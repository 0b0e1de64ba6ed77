import KistCore
import KistTesting
import Testing

@Test(arguments: UserStorageContract.all)
func `the storage in memory keeps the contract`(rule: UserStorageContract.Rule) async throws {
  let clock = ManualClock()
  try await rule.check(.init(storage: .inMemory(now: clock.now), clock: clock))
}

@Test(.timeLimit(.minutes(5)), arguments: WatchContract.all)
func `the storage in memory keeps the contract with watchers`(
  rule: WatchContract.Rule
) async throws {
  let storage = OpenStorage.inMemory()
  try await rule.check(.init(storage: storage.credentials, watch: storage.watch))
}
