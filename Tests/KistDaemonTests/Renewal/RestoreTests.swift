import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `kistd restore` {
  @Test func `makes in an empty home what a first start would make, with all credentials`()
    async throws
  {
    try await withBackup { backup, home in
      let words = ["restore", backup]
      let verified = try await home.kistd(words + ["--verify"], [0: "of the backup\n"], endsWith: 0)
      #expect(verified.output == "\(backup) is intact: 2 credentials\n")
      #expect(mode(of: home.path + "/.local") == nil)
      let output = try await home.kistd(words, [0: "of the backup\n"], endsWith: 0).output
      #expect(
        output == "restored 2 credentials into \(home.store), which opens with the key file "
          + "\(home.key): keep a copy of it elsewhere\n")
      for (path, expected) in [
        (home.store, 0o600), (home.key, 0o600), (home.pin.path, 0o600),
        (home.path + "/.local/share/kist", 0o700), (home.path + "/.local/state/kist", 0o700),
      ] { #expect(mode(of: path) == mode_t(expected), "\(path)") }
      let file = try await EncryptedFile.open(home.options)
      #expect(try await file.credentials.load(.sample).secret == NewCredential.sample().secret)
      #expect(try home.pin.read() == Pin(kind: .encryptedFile, storeID: file.id))
      await file.close()
      let again = try await home.kistd(words, [0: "of the backup"], endsWith: 3).error
      #expect(again.contains("there is a store at \(home.store) already"))
      #expect(again.contains("hint: move it away"))
    }
  }

  @Test func `with --json prints its result and its errors as objects`() async throws {
    try await withBackup { backup, home in
      let words = ["restore", backup, "--json"]
      let verified = try await home.kistd(words + ["--verify"], [0: "of the backup"], endsWith: 0)
      #expect(verified.output == #"{"file":"\#(backup)","count":2}"# + "\n")
      let restored = try await home.kistd(words, [0: "of the backup"], endsWith: 0)
      #expect(
        restored.output == #"{"store":"\#(home.store)","count":2,"keyFile":"\#(home.key)"}"# + "\n")
      let again = try await home.kistd(words, [0: "of the backup"], endsWith: 3)
      #expect(again.error.hasPrefix(#"{"code":"conflict","message":"there is a store at "#))
    }
  }

  @Test func `takes both passphrases from descriptors, and makes no key file then`() async throws {
    try await withBackup { backup, home in
      let output = try await home.kistd(
        ["restore", backup, "--passphrase-fd", "70", "--new-passphrase-fd", "80"],
        [70: "of the backup", 80: "of the store"], endsWith: 0
      ).output
      #expect(output.hasSuffix("which opens with its passphrase\n"))
      #expect(mode(of: home.key) == nil)
      let one = try await home.kistd(
        ["restore", backup, "--data", home.path + "/a", "--new-passphrase-fd", "0"],
        [0: "of the backup"], endsWith: 64)
      #expect(one.error.contains("both passphrases would be read from descriptor 0"))
      var options = home.options
      options.keySource = .passphrase(Secret(utf8: "of the store"))
      let file = try await EncryptedFile.open(options)
      #expect(try await file.credentials.findAll().count == 2)
      await file.close()
    }
  }

  // Of the backup, of which there is none, nothing is said, and no passphrase is asked for.
  @Test func `first checks whether there is a store, and whether it is in use`()
    async throws
  {
    try await withHome { home in
      let words = ["restore", home.path + "/no-backup"]
      let file = try await EncryptedFile.open(home.options)
      _ = try await home.kistd(words, [0: "of the backup"], endsWith: 12)
      await file.close()
      _ = try await home.kistd(words, [0: "of the backup"], endsWith: 3)
    }
  }

  @Test func `replaces a missing store that the pin names`() async throws {
    try await withBackup { backup, home in
      let gone = Pin(kind: .encryptedFile, storeID: "gone")
      try home.pin.write(gone, insteadOf: nil)
      _ = try await home.kistd(["restore", backup], [0: "of the backup"], endsWith: 0)
      let file = try await EncryptedFile.open(home.options)
      await file.close()
      #expect(try home.pin.read() == Pin(kind: .encryptedFile, storeID: file.id))
    }
  }

  @Test func `with a wrong passphrase, none, no file, or one that is cut, makes nothing`()
    async throws
  {
    try await withBackup { backup, home in
      let wrong = try await home.kistd(["restore", backup], [0: "another"], endsWith: 11).error
      #expect(wrong.contains("hint: give the passphrase that you gave to `kist backup`"))
      let none = try await home.kistd(["restore", backup], [0: "\n"], endsWith: 64).error
      #expect(none.contains("the passphrase of the backup is missing"))
      _ = try await home.kistd(["restore", backup + "-"], [0: "of the backup"], endsWith: 64)
      let bytes = try Data(contentsOf: URL(filePath: backup))
      try bytes.dropLast(100).write(to: URL(filePath: backup))
      let cut = try await home.kistd(["restore", backup], [0: "of the backup"], endsWith: 10).error
      #expect(cut.contains("the backup is damaged or incomplete"))
      #expect(mode(of: home.store) == nil && mode(of: home.pin.path) == nil)
      try home.pin.write(Pin(kind: .libsecret, storeID: nil), insteadOf: nil)
      _ = try await home.kistd(["restore", backup], [0: "of the backup"], endsWith: 7)
      #expect(mode(of: home.store) == nil)
    }
  }

  @Test func `of a backup in which a secret was changed makes nothing, and no key file`()
    async throws
  {
    try await withBackup { backup, home in
      var bytes = try Data(contentsOf: URL(filePath: backup))
      let last = try #require(bytes.lastIndex { $0 != 0 })
      bytes[last] ^= 1
      try bytes.write(to: URL(filePath: backup))
      let error = try await home.kistd(["restore", backup], [0: "of the backup"], endsWith: 10)
        .error
      #expect(error.contains("the backup is damaged or incomplete"))
      #expect(error.contains("hint: nothing was written; use another copy of the backup"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).isEmpty)
    }
  }

  @Test(arguments: [[], [""], ["file", "another"], ["file", "--passphrase-fd", "x"]])
  func `refuses words that make no sense with status 64`(words: [String]) async throws {
    try await withDirectory { path in
      let home = RenewalHome(path: path)
      let error = try await home.kistd(["restore"] + words, endsWith: 64).error
      #expect(error.contains("hint: "))
    }
  }

  /// Lends a backup of two credentials, and a home where there is nothing.
  private func withBackup(
    _ body: nonisolated(nonsending) (String, RenewalHome) async throws -> Void
  ) async throws {
    try await withHome { home in
      let file = try await EncryptedFile.open(home.options)
      let backup = try await file.backups.make(under: Secret(utf8: "of the backup"))
      let part = try await file.backups.read(BackupPart(of: backup.id, from: 0))
      try #require(part.count == backup.size)
      await file.close()
      let path = home.path + "/backup"
      try part.withBytes { bytes in Data(bytes.indices.map { bytes[$0] }) }
        .write(to: URL(filePath: path))
      try await withDirectory { empty in try await body(path, RenewalHome(path: empty)) }
    }
  }
}
