import ArgumentParser
import KistCore
import KistFile
import KistTesting
import Logging
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `What the daemon adds to a status` {
  @Test func `is the reason and the seconds since the start, each time`() async throws {
    let bare = StorageStatus(
      storage: "memory", isLocked: false, reopensAtRestart: true, durability: .memory,
      keyProtection: "none")
    let access = StorageAccess(
      status: { () throws(StorageError) in bare }, lock: { () throws(StorageError) in bare },
      unlock: { _ throws(StorageError) in bare }
    ).reporting(reason: "because", since: .now - .seconds(100))
    for status in [
      try await access.status(), try await access.lock(), try await access.unlock(nil),
    ] {
      #expect(status.reason == "because")
      #expect(try #require(status.uptime) >= 100)
      #expect(status.storage == "memory")
    }
  }

  @Test func `is the time since kistd was started, also if it has opened the storage again`()
    async throws
  {
    try await withDirectory { home in
      let options = try Kistd.parse(["--storage", "encrypted-file"])
        .options(environment: { ["HOME": home][$0] })
      let storage = try await OpenStorage.open(
        StorageContext(
          options: options, keySource: .keyFile(path: home + "/key"), environment: { _ in nil },
          logger: Logger(label: "test")), since: .now - .seconds(100))
      let uptime = try await storage.access.status().uptime
      #expect((uptime ?? 0) >= 100)
      await storage.close()
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A command that cannot unlock the encrypted file` {
  @Test(arguments: [Options.KeySource.file(path: "/key"), .passphraseFile(path: "/passphrase")])
  func `keeps the hint of the store if this kistd knows none of its key slots`(
    source: Options.KeySource
  ) throws {
    var options = try Kistd.parse([]).options(environment: { ["HOME": "/home"][$0] })
    options.keySource = source
    let status = StorageStatus(
      storage: "encrypted-file", isLocked: true, unlocksWith: .unknown, reopensAtRestart: false,
      durability: .disk, keyProtection: "none")
    let context = StorageContext(
      options: options, keySource: source.unread, environment: { _ in nil },
      logger: Logger(label: "test"))
    let error = StorageError.locked("the store is locked", hint: "update kistd")
    #expect(StorageKind.encryptedFile.whenLocked(error, status, context) == error)
  }
}
