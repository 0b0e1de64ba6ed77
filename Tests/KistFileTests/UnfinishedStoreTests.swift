import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A file with the name of an unfinished store` {
  let store = try! TestStore()

  static let names = [
    ".new", ".new-wal", ".backup", ".backup-shm", ".new-0123456789abcdef0123456789abcdef",
    ".new-0123456789abcdef0123456789abcdef-wal",
  ]

  @Test(arguments: names, Plant.allCases)
  func `stops a start and is not changed, unless it is a leftover of kist`(
    name: String, plant: Plant
  ) async throws {
    try await store.fill([.sample()])
    let before = try store.bytes()
    let (path, other) = (store.path + name, store.directory("other"))
    try Data("other".utf8).write(to: URL(filePath: other))
    try plant.put(at: path, linkedTo: other)
    let number = try fileNumber(path)
    let error = await expect(.denied) { try await store.open() }
    #expect(error?.message.contains("the unfinished store \(path) \(plant.clause)") == true)
    #expect(error?.hint?.hasPrefix("move it away") == true)
    #expect(try fileNumber(path) == number && store.bytes() == before)
    #expect(try Data(contentsOf: URL(filePath: other)) == Data("other".utf8))
  }

  @Test(arguments: names)
  func `is removed at a start if it is a leftover of kist`(name: String) async throws {
    try await store.fill([.sample()])
    try Data("leftover".utf8).write(to: URL(filePath: store.path + name))
    // Only the store's name leads to the files beside an unfinished store of a rekey.
    try await store.fill([])
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
  }

  @Test(.needsRoot("to give a file away"), arguments: names)
  func `stops a start and is not changed if it is of another user`(name: String) async throws {
    try await store.fill([.sample()])
    let path = store.path + name
    try Data("other".utf8).write(to: URL(filePath: path))
    try #require(unsafe chown(path, 1, 1) == 0)
    let error = await expect(.denied) { try await store.open() }
    #expect(error?.message == "the unfinished store \(path) belongs to another user")
    #expect(try Data(contentsOf: URL(filePath: path)) == Data("other".utf8))
  }

  @Test(arguments: Plant.allCases)
  func `stops a backup, and is not changed`(plant: Plant) async throws {
    let opened = try await store.open()
    let (path, other) = (store.path + ".backup", store.directory("other"))
    try Data("other".utf8).write(to: URL(filePath: other))
    try plant.put(at: path, linkedTo: other)
    let number = try fileNumber(path)
    let error = await expect(.denied) {
      try await opened.backups.make(
        .begin(passphrase: Secret(utf8: "correct horse"), allowsWeak: false))
    }
    #expect(error?.message.contains("the unfinished store \(path) \(plant.clause)") == true)
    await opened.close()
    #expect(try fileNumber(path) == number)
    #expect(try Data(contentsOf: URL(filePath: other)) == Data("other".utf8))
  }
}
