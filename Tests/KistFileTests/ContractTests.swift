import KistCore
import KistFile
import KistTesting
import Testing

@Test(arguments: UserStorageContract.all)
func `the encrypted file keeps the contract`(rule: UserStorageContract.Rule) async throws {
  let clock = ManualClock()
  let directory = try TemporaryDirectory()
  let store = try await EncryptedFile.open(
    .init(
      path: directory("credentials.db"), keySource: .keyFile(path: directory("key")),
      now: clock.now))
  try await rule.check(.init(storage: store.credentials, clock: clock))
  await store.close()
}
