import Foundation
import Glibc
import KistCore
import KistFile
import KistTesting
import Testing

@testable import KistDaemon

/// What a kistd writes down while a command waits for the store, or for a person.
@Suite(.timeLimit(.minutes(5))) struct `The pin of a store that is given a new key or restored` {
  @Test func `is the one that was there when a new key was about to have its place`() async throws {
    try await withHome { home in
      // It looks whether it is the encrypted file at all, and then has the store to itself.
      let reads = try PinReads(in: home)
      let person = Task.detached {
        try reads.answer(Pin(kind: .encryptedFile, storeID: "of before"))
        try reads.answer(Pin(kind: .encryptedFile, storeID: home.id), whenOwned: true)
      }
      _ = try await home.kistd(["rekey"], endsWith: 0)
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
      let reads = try PinReads(in: home)
      let person = Task.detached {
        try reads.answer(Pin(kind: .encryptedFile, storeID: home.id))
        try reads.answer(Pin(kind: .libsecret, storeID: nil), whenOwned: true)
      }
      let error = try await home.kistd(["rekey"], endsWith: 7).error
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
      let reads = try PinReads(in: home)
      let person = Task.detached {
        try reads.answer(Pin(kind: .encryptedFile, storeID: home.id))
        try reads.answer(Pin(kind: .libsecret, storeID: nil), whenOwned: true)
      }
      let error = try await home.kistd(
        ["restore", home.path + "/backup"], [0: "of the backup"], endsWith: 7
      ).error
      #expect(error.contains("credentials are kept in the keyring"))
      try await person.value
      #expect(!FileManager.default.fileExists(atPath: home.store))
    }
  }
}

/// A pipe in the place of the pin, so that whoever reads it waits, each time, for what it is to be.
private struct PinReads {
  private let home: RenewalHome

  init(in home: RenewalHome) throws {
    self.home = home
    try putPipe()
  }

  /// Gives whoever reads the pin next this one, only while nobody else can have the store.
  func answer(_ pin: Pin, whenOwned: Bool = false) throws {
    // Waits for the reader.
    let pipe = unsafe open(home.pin.path, O_WRONLY | O_CLOEXEC)
    defer { close(pipe) }
    if whenOwned { #expect(isOwned(home.store)) }
    // The next one is not to find this one's.
    try putPipe()
    let text = Array(pin.text.utf8)
    #expect(unsafe write(pipe, text, text.count) == text.count)
  }

  private func putPipe() throws {
    let path = home.pin.path + ".pipe"
    try #require(unsafe mkfifo(path, 0o600) == 0)
    try #require(unsafe rename(path, home.pin.path) == 0)
  }

  private func isOwned(_ store: String) -> Bool {
    let lock = unsafe open(store + ".lock", O_RDWR | O_CLOEXEC)
    defer { close(lock) }
    return lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0
  }
}
