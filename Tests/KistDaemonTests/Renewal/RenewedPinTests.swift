import Foundation
import Glibc
import KistCore
import KistFile
import KistTesting
import Testing

@testable import KistDaemon

/// Another kistd may write the pin while a command waits for the store, or for the user.
@Suite(.timeLimit(.minutes(5))) struct `The pin of a store that is given a new key or restored` {
  @Test func `is checked when the new key replaces the old one`() async throws {
    try await withHome { home in
      // It looks whether it is the encrypted file at all, and later has the store to itself.
      let now = Pin(kind: .encryptedFile, storeID: home.id)
      try home.pin.write(Pin(kind: .encryptedFile, storeID: "of before"), insteadOf: now)
      let passphrase = try SlowPassphrase(in: home)
      let person = Task.detached {
        try passphrase.give("correct horse", changing: home.pin, to: now)
      }
      _ = try await home.kistd(
        ["rekey", "--new-passphrase-fd", "70"], opening: [70: passphrase.path], endsWith: 0)
      try await person.value
      let file = try await EncryptedFile.open(home.options)
      #expect(try home.pin.read() == Pin(kind: .encryptedFile, storeID: file.id))
      await file.close()
    }
  }

  @Test func `keeps a store from being replaced when credentials have come to be kept elsewhere`()
    async throws
  {
    try await withHome { home in
      let before = try Data(contentsOf: URL(filePath: home.store))
      let passphrase = try SlowPassphrase(in: home)
      let person = Task.detached {
        try passphrase.give(
          "correct horse", changing: home.pin, to: Pin(kind: .libsecret, storeID: nil))
      }
      let error = try await home.kistd(
        ["rekey", "--new-passphrase-fd", "70"], opening: [70: passphrase.path], endsWith: 7
      ).error
      #expect(error.contains("credentials are kept in the keyring"))
      try await person.value
      #expect(try Data(contentsOf: URL(filePath: home.store)) == before)
      let keys = try FileManager.default.contentsOfDirectory(
        atPath: URL(filePath: home.key).deletingLastPathComponent().path)
      #expect(keys.filter { $0.hasPrefix("key.") }.isEmpty)
    }
  }

  @Test func `keeps a store from being restored when credentials have come to be kept elsewhere`()
    async throws
  {
    try await withHome { home in
      let file = try await EncryptedFile.open(home.options)
      let backup = try await file.backups.make(under: Secret(utf8: "of the backup"))
      let part = try await file.backups.read(BackupPart(of: backup.id, from: 0))
      await file.close()
      try part.withBytes { bytes in Data(bytes.indices.map { bytes[$0] }) }
        .write(to: URL(filePath: home.path + "/backup"))
      try FileManager.default.removeItem(atPath: home.store)
      let passphrase = try SlowPassphrase(in: home)
      let person = Task.detached {
        try passphrase.give(
          "of the backup", changing: home.pin, to: Pin(kind: .libsecret, storeID: nil))
      }
      let error = try await home.kistd(
        ["restore", home.path + "/backup"], opening: [0: passphrase.path], endsWith: 7
      ).error
      #expect(error.contains("credentials are kept in the keyring"))
      try await person.value
      #expect(!FileManager.default.fileExists(atPath: home.store))
    }
  }
}

/// A passphrase that kistd reads from a FIFO, after it has read the pin for the first time.
private struct SlowPassphrase {
  let path: String

  init(in home: RenewalHome) throws {
    path = home.path + "/passphrase"
    try #require(unsafe mkfifo(path, 0o600) == 0)
  }

  /// Gives the passphrase, and ends it after another pin was written, which kistd is to read then.
  func give(_ text: String, changing pin: PinFile, to new: Pin) throws {
    // Waits for the reader.
    let pipe = unsafe open(path, O_WRONLY | O_CLOEXEC)
    defer { close(pipe) }
    let bytes = Array(text.utf8)
    #expect(unsafe write(pipe, bytes, bytes.count) == bytes.count)
    var left: CInt = 0
    repeat {
      sched_yield()
      try #require(unsafe ioctl(pipe, UInt(FIONREAD), &left) == 0)
    } while left > 0
    try pin.write(new, insteadOf: try pin.read())
  }
}
