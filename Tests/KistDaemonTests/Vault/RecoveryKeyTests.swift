import KistCore
import KistSodium
import KistTesting
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(2))) struct `A recovery key` {
  private func seed(_ byte: UInt8 = 0xA5) throws -> GuardedKey {
    try GuardedKey(copying: [UInt8](repeating: byte, count: 32).span)
  }

  private func text(_ seed: GuardedKey) -> String {
    String(
      decoding: RecoveryKey.text(of: seed).withBytes { text in text.indices.map { text[$0] } },
      as: UTF8.self)
  }

  private func bytes(_ seed: GuardedKey) -> [UInt8] {
    seed.withBytes { bytes in bytes.indices.map { bytes[$0] } }
  }

  @Test func `is 14 groups of four characters, which give the same seed`() throws {
    for seed in [try seed(), try seed(0), try seed(0xFF), try GuardedKey.random()] {
      let text = text(seed)
      let groups = text.split(separator: " ")
      #expect(groups.count == 14 && groups.allSatisfy { $0.utf8.count == 4 })
      for typed in [
        text, text.lowercased(), text.replacing(" ", with: ""),
        text.replacing(" ", with: "-") + "\n",
      ] {
        #expect(try bytes(RecoveryKey.seed(of: Secret(utf8: typed))) == bytes(seed))
      }
    }
  }

  @Test func `has the text that base32 gives`() throws {
    // The first 50 characters are those of `printf '\245…' | base32`.
    #expect(
      text(try seed()).replacing(" ", with: "").hasPrefix(
        "UWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUW"))
  }

  @Test func `with one wrong, missing or additional character is refused, and not quoted`()
    async throws
  {
    let characters = Array(text(try seed()).replacing(" ", with: ""))
    for place in characters.indices {
      for wrong in ["A", "7", "0", "é", ""] where wrong != String(characters[place]) {
        let typed = String(characters[..<place]) + wrong + String(characters[(place + 1)...])
        let error = await expect(.badRequest) { try RecoveryKey.seed(of: Secret(utf8: typed)) }
        #expect(error?.description.contains("UWS2") == false)
      }
    }
    await expect(.badRequest) { try RecoveryKey.seed(of: Secret(utf8: String(characters) + "A")) }
    await expect(.badRequest) { try RecoveryKey.seed(of: Secret(utf8: "")) }
  }
}
