import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `kistd rekey` {
  @Test func `replaces key file and store, and the pin goes along`() async throws {
    try await withHome { home in
      let before = try Data(contentsOf: URL(filePath: home.key))
      let output = try await home.kistd(["rekey"], endsWith: 0).output
      #expect(
        output.hasPrefix(
          "\(home.store) has a new key: 2 credentials\n- the key file \(home.key) is"))
      #expect(try Data(contentsOf: URL(filePath: home.key)) != before)
      let file = try await EncryptedFile.open(home.options)
      let id = try #require(file.id)
      #expect(id != home.id)
      #expect(output.contains("- the old key file is now \(home.key).before-\(id): "))
      #expect(try await file.credentials.load(.sample).secret == NewCredential.sample().secret)
      await file.close()
      #expect(try home.pin.read() == Pin(kind: .encryptedFile, storeID: file.id))
    }
  }

  @Test func `with --json prints its result and its errors as objects`() async throws {
    try await withHome { home in
      let descriptors: [CInt: String] = [70: "the passphrase"]
      let end = try await home.kistd(
        ["rekey", "--json", "--new-passphrase-fd", "70"], descriptors, endsWith: 0)
      let id = try #require(try home.pin.read()?.storeID)
      #expect(
        end.output == """
          {"store":"\(home.store)","count":2,"keyFile":"\(home.key)",\
          "oldKeyFile":"\(home.key).before-\(id)","hasPassphrase":true,"dropped":0}

          """)
      let refused = try await home.kistd(["rekey", "--json"], endsWith: 64)
      #expect(refused.error.hasPrefix(#"{"code":"badRequest","message":"one of the key slots"#))
    }
  }

  @Test func `leaves another store of the same key file to the old one, which it names`()
    async throws
  {
    try await withHome { home in
      var other = home.options
      other.path = home.path + "/other/credentials.db"
      let made = try await EncryptedFile.open(other)
      try await made.credentials.save(.sample())
      await made.close()
      _ = try await home.kistd(["rekey"], endsWith: 0)
      let locked = try await EncryptedFile.open(other)
      #expect(try await locked.access.status().isLocked)
      await locked.close()
      let rekeyed = try await EncryptedFile.open(home.options)
      let old = "\(home.key).before-\(try #require(rekeyed.id))"
      await rekeyed.close()
      other.keySource = .keyFile(path: old)
      let opened = try await EncryptedFile.open(other)
      #expect(try await opened.credentials.load(.sample).secret == NewCredential.sample().secret)
      await opened.close()
    }
  }

  @Test func `reads the current passphrase and a new one from descriptors`() async throws {
    try await withHome { home in
      _ = try await home.kistd(
        ["rekey", "--new-passphrase-fd", "70"], [70: "the first"], endsWith: 0)
      let refused = try await home.kistd(["rekey"], endsWith: 64).error
      #expect(refused.contains("one of the key slots of the store would be lost"))
      #expect(refused.contains("--drop-others"))
      let wrong = try await home.kistd(
        ["rekey", "--passphrase-fd", "70"], [70: "the second"], endsWith: 11)
      #expect(wrong.error.contains("the passphrase is wrong"))
      let one = try await home.kistd(
        ["rekey", "--passphrase-fd", "70", "--new-passphrase-fd", "70"], [70: "the first"],
        endsWith: 64
      )
      #expect(one.error.contains("both passphrases would be read from descriptor 70"))
      _ = try await home.kistd(
        ["rekey", "--passphrase-fd", "70", "--new-passphrase-fd", "80"],
        [70: "the first", 80: "the second"],
        endsWith: 0)
      let dropped = try await home.kistd(["rekey", "--drop-others"], endsWith: 0).output
      #expect(dropped.contains("- 1 other key slot no longer opens it\n"))
      _ = try await home.kistd(
        ["rekey", "--passphrase-fd", "70"], [70: "the second"], endsWith: 11)
    }
  }

  @Test func `takes a new passphrase of fewer than 8 bytes with --weak, and an old one always`()
    async throws
  {
    try await withHome { home in
      let new = ["rekey", "--new-passphrase-fd", "70"]
      let refused = try await home.kistd(new, [70: "1234567"], endsWith: 64).error
      #expect(refused.contains("fewer than 8 bytes") && refused.contains("`--weak`"))
      _ = try await home.kistd(new + ["--weak"], [70: "1234567"], endsWith: 0)
      _ = try await home.kistd(
        ["rekey", "--passphrase-fd", "70"], [70: "1234567"], endsWith: 0)
      _ = try await home.kistd(
        ["--passphrase-fd", "70", "--", "/bin/true"], [70: "1234567"], endsWith: 0)
    }
  }

  @Test func `needs the store for itself, and names the command that stops its owner`() async throws
  {
    try await withHome { home in
      let file = try await EncryptedFile.open(home.options)
      // It does not read a passphrase before.
      let error = try await home.kistd(["rekey", "--passphrase-fd", "70"], endsWith: 12).error
      #expect(error.contains("the store is in use by pid \(getpid())"))
      #expect(error.contains("hint: stop it: `kill \(getpid())`"))
      await file.close()
    }
  }

  @Test func `without its key, or a store, or where credentials are kept elsewhere, does nothing`()
    async throws
  {
    try await withHome { home in
      let locked = try await home.kistd(["rekey", "--key-file", home.key + "-"], endsWith: 5).error
      #expect(locked.contains("hint: name its key file with --key-file"))
      _ = try await home.kistd(["rekey", "--data", home.path + "/none"], endsWith: 2)
      #expect(mode(of: home.path + "/none") == nil)
      let other = Pin(kind: .encryptedFile, storeID: "another")
      try home.pin.write(other, insteadOf: other)
      let another = try await home.kistd(["rekey"], endsWith: 7).error
      #expect(another.contains("is not the one that has your credentials: it is another store, "))
      #expect(another.contains("or a copy from before a `kistd rekey`"))
      #expect(another.contains("open it with `kistd --data DIRECTORY`"))
      try home.pin.write(Pin(kind: .libsecret, storeID: nil), insteadOf: other)
      let keyring = try await home.kistd(["rekey"], endsWith: 7).error
      #expect(keyring.contains("credentials are kept in the keyring"))
      let file = try await EncryptedFile.open(home.options)
      #expect(file.id == home.id)
      await file.close()
    }
  }

  @Test func `of a store that is damaged changes nothing, and names fsck`() async throws {
    try await withHome { home in
      var bytes = try Data(contentsOf: URL(filePath: home.store))
      bytes.removeLast(4096)
      try bytes.write(to: URL(filePath: home.store))
      let error = try await home.kistd(["rekey"], endsWith: 10).error
      #expect(error.contains("`kistd fsck`"))
      #expect(try Data(contentsOf: URL(filePath: home.store)) == bytes)
    }
  }

  @Test(arguments: [["--new-passphrase-fd", "x"], ["--deadline", "1s"], ["word"]])
  func `refuses words that make no sense with status 64`(words: [String]) async throws {
    try await withHome { home in
      let error = try await home.kistd(["rekey"] + words, endsWith: 64).error
      #expect(error.contains("hint: "))
    }
  }

  @Test func `that was interrupted before it wrote the pin again is settled by the next start`()
    async throws
  {
    try await withHome { home in
      for (next, settled) in [("another", home.id), (try #require(home.id), home.id)] {
        let pin = Pin(
          kind: .encryptedFile, storeID: next == home.id ? "old" : home.id, nextStoreID: next)
        try home.pin.write(pin, insteadOf: pin)
        _ = try await home.kistd(["--", "/bin/true"], endsWith: 0)
        #expect(try home.pin.read() == Pin(kind: .encryptedFile, storeID: settled))
      }
    }
  }
}
