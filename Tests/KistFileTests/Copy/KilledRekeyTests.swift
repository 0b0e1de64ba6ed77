import Foundation
import KistCore
import KistSodium
import KistTesting
import Testing

@testable import KistFile

@Suite(.timeLimit(.minutes(10))) struct `A rekey` {
  let store = try! TestStore()
  let passphrase = Secret(utf8: "correct horse battery staple")

  /// Killed before the new store has its place, or after it.
  @Test(arguments: [false, true])
  func `that was killed leaves nothing beside it once kistd was started again`(
    hadItsPlace: Bool
  ) async throws {
    try await store.fill(threeCredentials)
    try await killDuringRekey(afterRename: hadItsPlace)
    let state = store.directory("state")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: state).contains { $0.contains(".next-") })
    try Data(repeating: 1, count: 32).write(to: URL(filePath: store.keyPath + ".new-17"))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: store.keyPath + ".new-17")
    // Of another store of the same key file.
    let other = store.keyPath + ".next-" + String(repeating: "0", count: 32)
    try Data(repeating: 1, count: 32).write(to: URL(filePath: other))
    #expect(try await store.isOpened(by: .keyFile(path: store.keyPath)))
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
    let names = try FileManager.default.contentsOfDirectory(atPath: state)
    #expect(
      Set(names.filter { !$0.contains(".before-") }) == [
        "key", (other as NSString).lastPathComponent,
      ])
    #expect(names.count { $0.contains(".before-") } == (hadItsPlace ? 1 : 0), "\(names)")
  }

  @Test func `that was killed keeps an old key that is nowhere else`() async throws {
    try await store.fill(threeCredentials)
    let opened = try await store.open()
    _ = try await opened.keySlots.add(
      KeySlotAddition(passphrase: passphrase, currentKey: store.key()))
    await opened.close()
    let key = try Data(contentsOf: URL(filePath: store.keyPath))
    try await killDuringRekey(afterRename: false)
    // The key file was lost, and another one made for the store.
    try FileManager.default.removeItem(atPath: store.keyPath)
    _ = try EncryptedFile.rekey(
      .init(
        options: .init(
          path: store.path, keySource: .passphrase(passphrase), passphraseCost: .least),
        keyFile: store.keyPath, dropsOthers: true))
    #expect(try await store.isOpened(by: .passphrase(passphrase)))
    let kept = try FileManager.default.contentsOfDirectory(atPath: store.directory("state"))
      .filter { $0.contains(".before-") }
    #expect(
      try kept.map { try Data(contentsOf: URL(filePath: store.directory("state/" + $0))) } == [key])
  }

  @Test func `that was killed keeps such a key also where its path is relative`() async {
    // In a process of its own, because all threads share the working directory.
    await #expect(processExitsWith: .success) {
      let store = try TestStore()
      #expect(FileManager.default.changeCurrentDirectoryPath(store.directory.path))
      let change = KeyFileChange(of: "key", for: [UInt8](repeating: 7, count: 16))
      for (path, byte) in [("key", UInt8(1)), (change.old, 2), (change.next, 3)] {
        try Data(repeating: byte, count: 32).write(to: URL(filePath: path))
        #expect(unsafe chmod(path, 0o600) == 0)
      }
      try change.discard()
      #expect(
        Set(try FileManager.default.contentsOfDirectory(atPath: ".")) == ["key", change.old])
    }
  }

  @Test func `that was killed keeps its leftovers until the key file opens the store`() async throws
  {
    try await store.fill(threeCredentials)
    try await killDuringRekey(afterRename: false)
    try FileManager.default.moveItem(atPath: store.keyPath, toPath: store.keyPath + "-")
    #expect(try await !store.isOpened(by: .keyFile(path: store.keyPath)))
    let unfinished = try #require(try store.names().first { $0.contains(".new-") })
    let size =
      try FileManager.default.attributesOfItem(
        atPath: store.directory("data/" + unfinished))[.size] as? Int
    #expect(size == 0)
    try FileManager.default.moveItem(atPath: store.keyPath + "-", toPath: store.keyPath)
    #expect(try await store.isOpened(by: .keyFile(path: store.keyPath)))
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: store.directory("state")) == ["key"])
  }

  @Test func `that was killed keeps the name of its store until every unfinished key is removed`()
    async throws
  {
    try await store.fill(threeCredentials)
    try await killDuringRekey(afterRename: false)
    let state = store.directory("state")
    let next = try #require(
      FileManager.default.contentsOfDirectory(atPath: state).first { $0.contains(".next-") })
    // Nobody can unlink a directory, as nobody can unlink a file on a failing disk.
    let unfinished = "\(state)/\(next).new-17"
    try FileManager.default.createDirectory(atPath: unfinished, withIntermediateDirectories: false)
    #expect(try await store.isOpened(by: .keyFile(path: store.keyPath)))
    #expect(try store.names().contains { $0.contains(".new-") })
    try FileManager.default.removeItem(atPath: unfinished)
    #expect(try await store.isOpened(by: .keyFile(path: store.keyPath)))
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: state) == ["key"])
  }

  /// Ends a process in the midst of a rekey, just before or after the new store has its place.
  private func killDuringRekey(afterRename: Bool) async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [
        path = store.path as String, key = store.keyPath as String,
        afterRename = afterRename as Bool
      ] in
      _ = try EncryptedFile.rekey(
        .init(
          options: .init(path: path, keySource: .keyFile(path: key), passphraseCost: .least),
          keyFile: key, dropsOthers: true,
          willSwitch: { _, new throws(StorageError) in
            if afterRename { unsafe rename("\(path).new-\(new)", path) }
            kill(getpid(), SIGKILL)
          }))
    }
  }
}
