import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A key file` {
  let store = try! TestStore()

  @Test func `is made with the store: 32 bytes that are never the same`() async throws {
    try await store.fill([])
    let other = try TestStore()
    try await other.fill([])
    let keys = try [store, other].map { try Data(contentsOf: URL(filePath: $0.keyPath)) }
    #expect(keys.map(\.count) == [32, 32])
    #expect(keys[0] != keys[1])
  }

  @Test func `that is there without a store, after a crash, is used for the new one`() async throws
  {
    try await store.fill([])
    let key = try Data(contentsOf: URL(filePath: store.keyPath))
    try FileManager.default.removeItem(atPath: store.path)
    try await store.fill([.sample()])
    #expect(try Data(contentsOf: URL(filePath: store.keyPath)) == key)
  }

  @Test func `that several new stores create at once opens each of them`() async throws {
    for _ in 0..<10 {
      let stores = try (0..<4).map { _ in try TestStore() }
      let keyPath = stores[0].keyPath
      try await withThrowingTaskGroup(of: Void.self) { group in
        for store in stores {
          group.addTask { try await store.fill([.sample()], .keyFile(path: keyPath)) }
        }
        try await group.waitForAll()
      }
      for store in stores {
        let opened = try await store.open(.keyFile(path: keyPath))
        #expect(try await opened.access.status().isLocked == false)
        await opened.close()
      }
      let names = try FileManager.default.contentsOfDirectory(
        atPath: stores[0].directory("state"))
      #expect(names == ["key"])
    }
  }

  @Test func `of another store does not open this one, now or at the next start`() async throws {
    try await store.fill([.sample()])
    let key = try Data(contentsOf: URL(filePath: store.keyPath))
    try Data(repeating: 7, count: key.count).write(to: URL(filePath: store.keyPath))
    let opened = try await store.open()
    let status = try await opened.access.status()
    #expect(status.isLocked && !status.reopensAtRestart)
    try key.write(to: URL(filePath: store.keyPath))
    #expect(try await opened.access.status().reopensAtRestart)
    await opened.close()
  }

  @Test func `that is missing leaves the store locked, is named, and is not created again`()
    async throws
  {
    try await store.fill([.sample()])
    let key = try Data(contentsOf: URL(filePath: store.keyPath))
    try FileManager.default.removeItem(atPath: store.keyPath)
    let opened = try await store.open()
    #expect(try await opened.access.status().isLocked)
    #expect(try await opened.access.status().reopensAtRestart == false)
    let error = await expect(.locked) { try await opened.credentials.load(.sample) }
    #expect(error?.message.contains(store.keyPath) == true)
    await expect(.locked) { try await opened.access.unlock(nil) }
    #expect(!FileManager.default.fileExists(atPath: store.keyPath))

    try key.write(to: URL(filePath: store.keyPath))
    await expect(.denied) { try await opened.access.unlock(nil) }
    try setKeyPermissions(0o600)
    #expect(try await opened.access.unlock(nil).isLocked == false)
    #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await opened.close()
  }

  @Test func `that fails to unlock the store is named with the last reason`() async throws {
    try await store.fill([.sample()])
    let key = try Data(contentsOf: URL(filePath: store.keyPath))
    try FileManager.default.removeItem(atPath: store.keyPath)
    let opened = try await store.open()
    func expectReason(_ reason: String, of code: StorageError.Code) async {
      await expect(code) { try await opened.access.unlock(nil) }
      let error = await expect(.locked) { try await opened.credentials.load(.sample) }
      #expect(error?.message.contains(reason) == true)
    }
    try Data(repeating: 7, count: key.count).write(to: URL(filePath: store.keyPath))
    try setKeyPermissions(0o600)
    await expectReason("does not open", of: .locked)
    try setKeyPermissions(0o644)
    await expectReason("has mode 644", of: .denied)
    try FileManager.default.removeItem(atPath: store.keyPath)
    await expectReason("is missing", of: .locked)
    // A wrong passphrase says nothing about the key file.
    await expect(.wrongPassphrase) { try await opened.access.unlock(Secret(utf8: "wrong")) }
    let error = await expect(.locked) { try await opened.credentials.load(.sample) }
    #expect(error?.message.contains("is missing") == true)
    await opened.close()
  }

  @Test func `of another store leaves the store locked`() async throws {
    try await store.fill([.sample()])
    let other = try TestStore()
    try await other.fill([])
    let opened = try await store.open(.keyFile(path: other.keyPath))
    let error = await expect(.locked) { try await opened.credentials.load(.sample) }
    #expect(error?.message.contains("does not open") == true)
    await opened.close()
  }

  @Test(arguments: [0o644, 0o660, 0o440, 0o700, 0o000])
  func `of another mode than 0600 and 0400 is refused; it and the store stay as they are`(
    permissions: Int
  )
    async throws
  {
    try await store.fill([.sample()])
    let key = try Data(contentsOf: URL(filePath: store.keyPath))
    try setKeyPermissions(permissions)
    let error = try await store.expectRefusedUntouched(.denied) { try await store.open() }
    #expect(error?.hint?.contains("chmod 600") == true)
    #expect(try mode(of: store.keyPath) == permissions)
    try setKeyPermissions(0o600)
    #expect(try Data(contentsOf: URL(filePath: store.keyPath)) == key)
    let opened = try await store.open()
    #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await opened.close()
  }

  @Test(arguments: [0, 31, 33, 64])
  func `of another length than 32 bytes is refused; it and the store stay as they are`(length: Int)
    async throws
  {
    try await store.fill([.sample()])
    try FileHandle(forWritingTo: URL(filePath: store.keyPath)).truncate(atOffset: UInt64(length))
    let key = try Data(contentsOf: URL(filePath: store.keyPath))
    let error = try await store.expectRefusedUntouched(.denied) { try await store.open() }
    #expect(error?.message.contains("\(length) bytes") == true)
    #expect(try Data(contentsOf: URL(filePath: store.keyPath)) == key)
  }

  @Test func `whose path needs quotes is refused with a quoted command`()
    async throws
  {
    let path = store.directory("a b;touch c/key")
    try await store.fill([], .keyFile(path: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let error = await expect(.denied) { try await store.open(.keyFile(path: path)) }
    #expect(error?.hint?.hasPrefix("`chmod 600 '\(path)'`") == true)
  }

  @Test(arguments: [0o770, 0o707, 0o722, 0o1777])
  func `in a directory that others may write to is refused; it and the store stay as they are`(
    permissions: Int
  ) async throws {
    try await store.fill([.sample()])
    let state = store.directory("state")
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: state)
    let error = try await store.expectRefusedUntouched(.denied) { try await store.open() }
    #expect(error?.message.contains("in a directory that other users may write to") == true)
    // Others need a sticky directory.
    let hint = permissions == 0o1777 ? "name another directory" : "`chmod 700 \(state)`"
    #expect(error?.hint?.hasPrefix(hint) == true)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: state)
    let opened = try await store.open()
    #expect(try await opened.access.status().isLocked == false)
    await opened.close()
  }

  @Test(.needsRoot("to give a directory away"))
  func `in a directory of another user is refused`() async throws {
    try await store.fill([.sample()])
    #expect(unsafe chown(store.directory("state"), 65534, 65534) == 0)
    let error = try await store.expectRefusedUntouched(.denied) { try await store.open() }
    #expect(error?.message.contains("in a directory that belongs to another user") == true)
  }

  @Test func `that is a symbolic link is refused`() async throws {
    try await store.fill([.sample()])
    try FileManager.default.moveItem(atPath: store.keyPath, toPath: store.directory("elsewhere"))
    try FileManager.default.createSymbolicLink(
      atPath: store.keyPath, withDestinationPath: store.directory("elsewhere"))
    await expect(.denied) { try await store.open() }
  }

  @Test func `that is a directory is refused`() async throws {
    try await store.fill([.sample()])
    try FileManager.default.removeItem(atPath: store.keyPath)
    try FileManager.default.createDirectory(
      atPath: store.keyPath, withIntermediateDirectories: false)
    await expect(.denied) { try await store.open() }
  }

  @Test func `that is refused keeps a new store from being made`() async throws {
    try FileManager.default.createDirectory(
      atPath: store.directory("state"), withIntermediateDirectories: false)
    try Data(repeating: 1, count: 31).write(to: URL(filePath: store.keyPath))
    try setKeyPermissions(0o600)
    await expect(.denied) { try await store.open() }
    #expect(!FileManager.default.fileExists(atPath: store.directory("data")))
  }

  private func setKeyPermissions(_ permissions: Int) throws {
    try FileManager.default.setAttributes(
      [.posixPermissions: permissions], ofItemAtPath: store.keyPath)
  }
}
