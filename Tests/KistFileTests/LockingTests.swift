import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Locking and unlocking` {
  let store = try! TestStore()
  let passphrase = Secret(utf8: "correct horse battery staple")

  @Test func `a locked store answers locked to everything but status and unlock`() async throws {
    try await store.fill([.sample()])
    let opened = try await store.open()
    let status = try await opened.access.lock()
    #expect(status.isLocked && status.count == nil && status.reopensAtRestart)
    #expect(try await opened.access.lock() == status)
    #expect(try await opened.access.status() == status)
    await expect(.locked) { try await opened.credentials.load(.sample) }
    await expect(.locked) { try await opened.credentials.load(.init(service: "absent")) }
    await expect(.locked) { try await opened.credentials.find(CredentialQuery()) }
    for change in [
      { try await opened.credentials.save(.sample()) as Any },
      { try await opened.credentials.delete(.sample) as Any },
    ] {
      #expect(await expect(.locked, from: change)?.outcome == .unchanged)
    }
    #expect(try await opened.access.unlock(nil).isLocked == false)
    #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await opened.close()
  }

  @Test func `requests that began before a lock are finished`() async throws {
    let opened = try await store.open()
    let saved = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<50 {
        group.addTask {
          let key = CredentialKey(service: "service", account: String(number))
          return (try? await opened.credentials.save(.sample(key))) != nil
        }
      }
      group.addTask { (try? await opened.access.lock()) == nil }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    let status = try await opened.access.unlock(nil)
    #expect(status.count == saved)
    await opened.close()
  }

  @Test func `unlocking an open store still verifies the passphrase`() async throws {
    try await store.fill([.sample()], .passphrase(passphrase))
    let opened = try await store.open(.passphrase(passphrase))
    await expect(.wrongPassphrase) { try await opened.access.unlock(Secret(utf8: "wrong")) }
    await store.attempts.holdBack(.wrongPassphrase)
    #expect(try await opened.access.unlock(passphrase).isLocked == false)
    #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await opened.close()
  }

  @Test func `of several unlocks at once, all but the first are busy`() async throws {
    try await store.fill([], .passphrase(passphrase))
    let opened = try await store.open(EncryptedFile.KeySource.none)
    let codes = await withTaskGroup(of: StorageError.Code?.self) { group in
      for _ in 0..<20 {
        group.addTask {
          do throws(StorageError) {
            _ = try await opened.access.unlock(passphrase)
            return nil
          } catch {
            return error.code
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes.contains(nil))
    #expect(codes.allSatisfy { $0 == nil || $0 == .busy })
    #expect(try await opened.access.unlock(passphrase).isLocked == false)
    await opened.close()
  }

  @Test func `the status describes what protects the key`() async throws {
    let opened = try await store.open()
    let keyFile = "a key file, \(store.keyPath)"
    var status = try await opened.access.status()
    #expect(status.storage == "encrypted-file" && status.durability == .disk)
    #expect(status.keyProtection.hasPrefix("\(keyFile): "))
    #expect(status.keyProtection.hasSuffix("the store reveals nothing without it"))
    _ = try await opened.keySlots.add(
      KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    status = try await opened.access.status()
    #expect(status.keyProtection.hasPrefix("\(keyFile), or a passphrase: "))
    #expect(status.keyProtection.hasSuffix("as safe as the passphrase is hard to guess"))
    _ = try await opened.keySlots.remove(KeySlotRemoval(number: 1, current: passphrase))
    status = try await opened.access.status()
    #expect(status.keyProtection.hasPrefix("a passphrase, which is not stored"))
    await opened.close()
  }
}
