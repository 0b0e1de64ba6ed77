import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `kistd key-file add` {
  private let passphrase = "correct horse"

  /// Lends a home whose store only a passphrase opens, as after `kist slots --remove` of the key.
  private func withPassphraseOnly(
    _ body: nonisolated(nonsending) (RenewalHome) async throws -> Void
  ) async throws {
    try await withHome { home in
      let file = try await EncryptedFile.open(home.options)
      let new = KeySlotAddition(
        passphrase: Secret(utf8: passphrase),
        currentKey: Secret(copying: [UInt8](try Data(contentsOf: URL(filePath: home.key))).span))
      _ = try await file.keySlots.add(new)
      _ = try await file.keySlots.remove(
        KeySlotRemoval(number: 1, current: Secret(utf8: passphrase)))
      await file.close()
      try await body(home)
    }
  }

  private func isLocked(_ home: RenewalHome) async throws -> Bool {
    let file = try await EncryptedFile.open(home.options)
    let isLocked = try await file.access.status().isLocked
    await file.close()
    return isLocked
  }

  @Test(arguments: [true, false])
  func `lets the key file open the store again, and makes one only if there is none`(
    isThere: Bool
  ) async throws {
    try await withPassphraseOnly { home in
      let old = try Data(contentsOf: URL(filePath: home.key))
      if !isThere { try FileManager.default.removeItem(atPath: home.key) }
      #expect(try await isLocked(home))
      // The second time finds the slot of the first.
      for _ in 0..<2 {
        let end = try await home.kistd(["key-file", "add"], [0: passphrase], endsWith: 0)
        #expect(
          end.output.hasPrefix("\(home.store) opens with the key file \(home.key), in slot 1\n"))
      }
      #expect(try await !isLocked(home))
      #expect(try (Data(contentsOf: URL(filePath: home.key)) == old) == isThere)
      let slots = try await home.kistd(
        ["rekey", "--passphrase-fd", "70"], [70: passphrase], endsWith: 0)
      #expect(!slots.output.contains("no longer"))
    }
  }

  @Test func `with --json prints its result and its errors as objects`() async throws {
    try await withPassphraseOnly { home in
      let words = ["key-file", "add", "--json"]
      let wrong = try await home.kistd(words, [0: "wrong"], endsWith: 11)
      #expect(wrong.error.hasPrefix(#"{"code":"wrongPassphrase","#))
      let end = try await home.kistd(words, [0: passphrase], endsWith: 0)
      #expect(
        end.output == #"{"store":"\#(home.store)","keyFile":"\#(home.key)","slot":1}"# + "\n")
    }
  }

  @Test func `with a wrong passphrase changes nothing, and makes no key file`() async throws {
    try await withPassphraseOnly { home in
      try FileManager.default.removeItem(atPath: home.key)
      let store = try Data(contentsOf: URL(filePath: home.store))
      let end = try await home.kistd(
        ["key-file", "add", "--passphrase-fd", "70"], [70: "wrong"], endsWith: 11)
      #expect(end.error.contains("the passphrase is wrong"))
      #expect(!FileManager.default.fileExists(atPath: home.key))
      #expect(try Data(contentsOf: URL(filePath: home.store)) == store)
    }
  }

  @Test func `refuses a store that kistd has open, and reads no passphrase before`() async throws {
    try await withPassphraseOnly { home in
      let file = try await EncryptedFile.open(home.options)
      let end = try await home.kistd(["key-file", "add", "--passphrase-fd", "70"], endsWith: 12)
      #expect(end.error.contains("the store is in use by pid "))
      #expect(end.error.contains("hint: stop it: `kill \(getpid())`"))
      await file.close()
    }
  }

  @Test(arguments: [["correct horse"], ["add", "correct horse"], []])
  func `does not repeat a word that it does not know`(words: [String]) async throws {
    try await withDirectory { path in
      let home = RenewalHome(path: path)
      let end = try await home.kistd(["key-file"] + words, endsWith: 64)
      #expect(!end.error.contains("horse"))
    }
  }
}
