import KistCore
import KistReplica
import KistTesting
import Testing

@testable import KistSimulation

@Suite(.timeLimit(.minutes(5))) struct `A shared vault` {
  @Test(arguments: UserStorageContract.all)
  func `keeps the contract`(rule: UserStorageContract.Rule) async throws {
    let (clock, directory) = (ManualClock(), try TemporaryDirectory())
    let vault = try await TestVault()
    let machine = try await vault.join(
      1, in: directory, options: TestVault.options(1, now: clock.now))
    try await rule.check(.init(storage: machine.credentials, clock: clock))
    await machine.close()
  }

  @Test(arguments: UserStorageContract.all)
  func `keeps the contract when another machine looks at the changes`(
    rule: UserStorageContract.Rule
  ) async throws {
    let (clock, directory) = (ManualClock(), try TemporaryDirectory())
    let vault = try await TestVault()
    let options = (1...2).map { TestVault.options($0, now: clock.now) }
    let machine = try await vault.join(1, in: directory, options: options[0])
    let other = try await vault.join(2, in: directory, options: options[1])
    var storage = machine.credentials
    storage.load = { request throws(StorageError) in
      var request = request
      request.maxStale = 0
      return try await other.credentials.load(request)
    }
    storage.find = { query throws(StorageError) in
      try await other.refresh()
      return try await other.credentials.find(query)
    }
    try await rule.check(.init(storage: storage, clock: clock))
    await machine.close()
    await other.close()
  }

  @Test(arguments: WatchContract.all)
  func `keeps the contract with watchers`(rule: WatchContract.Rule) async throws {
    let directory = try TemporaryDirectory()
    let vault = try await TestVault()
    let machine = try await vault.join(1, in: directory)
    try await rule.check(.init(storage: machine.credentials, watch: machine.watch))
    await machine.close()
  }

  @Test(arguments: WatchContract.all)
  func `keeps the contract with watchers on another machine`(
    rule: WatchContract.Rule
  ) async throws {
    let directory = try TemporaryDirectory()
    let vault = try await TestVault()
    let machine = try await vault.join(1, in: directory)
    let other = try await vault.join(2, in: directory)
    let following = Task { await other.follow() }
    // A watcher begins after the changes that were answered before it.
    let watch = WatchCredentials { request throws(StorageError) in
      try await other.refresh()
      return try await other.watch.begin(request)
    }
    try await rule.check(.init(storage: machine.credentials, watch: watch))
    following.cancel()
    await following.value
    await machine.close()
    await other.close()
  }
}
