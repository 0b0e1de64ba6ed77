#if Libsecret
  import Foundation
  import KistCore
  import KistLibsecret
  import KistTesting
  import Testing

  @Suite(.serialized) struct ScratchTests {
    @Test(arguments: UserStorageContract.all)
    func `scratch contract`(rule: UserStorageContract.Rule) async throws {
      let clock = ManualClock()
      let store = Libsecret.open(
        .init(busAddress: ProcessInfo.processInfo.environment["DBUS_SESSION_BUS_ADDRESS"], now: clock.now))
      for summary in try await store.credentials.findAll() { try await store.credentials.delete(summary.key) }
      try await rule.check(.init(storage: store.credentials, clock: clock))
      await store.close()
    }
  }
#endif
