import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A passphrase file` {
  let store = try! TestStore()
  var path: String { store.keyPath }

  private func write(_ text: String, mode: Int = 0o400) throws {
    try FileManager.default.createDirectory(
      at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
    try? FileManager.default.removeItem(atPath: path)
    try Data(text.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  @Test(arguments: [0o400, 0o600])
  func `opens the store by itself, also after a lock and a restart`(mode: Int) async throws {
    try write("correct horse\n", mode: mode)
    try await store.fill([.sample()], .passphraseFile(path: path))
    let opened = try await store.open(.passphraseFile(path: path))
    let status = try await opened.access.status()
    #expect(!status.isLocked && status.reopensAtRestart && status.unlocksWith == .keyFile)
    #expect(try await opened.access.lock().isLocked)
    #expect(try await opened.access.unlock(nil).isLocked == false)
    #expect(try await opened.credentials.load(.sample).secret == Secret(utf8: "correct horse"))
    await opened.close()
    let typed = try await store.open(.passphrase(Secret(utf8: "correct horse")))
    #expect(try await typed.access.status().isLocked == false)
    await typed.close()
  }

  @Test func `opens by itself a store that a key file opens, too`() async throws {
    let key = path + ".key"
    var opened = try await store.open(.keyFile(path: key))
    _ = try await opened.keySlots.add(
      KeySlotAddition(
        passphrase: Secret(utf8: "correct horse"),
        currentKey: Secret(copying: Array(Data(contentsOf: URL(filePath: key))))))
    await opened.close()
    try write("correct horse")
    opened = try await store.open(.passphraseFile(path: path))
    let status = try await opened.access.status()
    #expect(!status.isLocked && status.reopensAtRestart && status.unlocksWith == .keyFile)
    #expect(status.keyProtection.hasPrefix("a key file, or a passphrase file, \(path): "))
    await opened.close()
  }

  @Test func `that is missing leaves the store locked, and is not created`() async throws {
    await expect(.unavailable) { try await store.open(.passphraseFile(path: path)) }
    try write("correct horse")
    try await store.fill([.sample()], .passphraseFile(path: path))
    try FileManager.default.removeItem(atPath: path)
    let opened = try await store.open(.passphraseFile(path: path))
    let error = await expect(.locked) { try await opened.credentials.load(.sample) }
    #expect(error?.message.contains("is missing") == true)
    let missing = try await opened.access.status()
    #expect(!missing.reopensAtRestart && missing.keyProtection.hasSuffix("\(path), is missing"))
    try write("correct horse")
    #expect(try await opened.access.unlock(nil).isLocked == false)
    await opened.close()
  }

  @Test func `of another store leaves the store locked, until it is the right one`() async throws {
    try await store.fill([.sample()], .passphrase(Secret(utf8: "correct horse")))
    try write("wrong")
    let opened = try await store.open(.passphraseFile(path: path))
    let error = await expect(.locked) { try await opened.credentials.load(.sample) }
    #expect(error?.message.contains("does not open") == true)
    let status = try await opened.access.status()
    #expect(!status.reopensAtRestart && status.unlocksWith == .passphrase)
    try write("correct horse")
    #expect(try await opened.access.unlock(nil).isLocked == false)
    await opened.close()
  }

  @Test func `that is empty is refused, as a passphrase is`() async throws {
    try await store.fill([.sample()], .passphrase(Secret(utf8: "correct horse")))
    try write("")
    try await store.expectRefusedUntouched(.badRequest) {
      try await store.open(.passphraseFile(path: path))
    }
  }

  @Test func `that others may read is refused`() async throws {
    try write("correct horse", mode: 0o644)
    await expect(.denied) { try await store.open(.passphraseFile(path: path)) }
  }
}
