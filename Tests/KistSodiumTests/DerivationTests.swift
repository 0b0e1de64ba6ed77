import KistCore
import KistSodium
import Testing

/// The expected values come from Python's hashlib and from PyNaCl.
@Suite(.timeLimit(.minutes(10))) struct `Hashing and deriving` {
  @Test func `BLAKE2b gives the value of RFC 7693, appendix A`() {
    let hash = blake2b(Array("abc".utf8).span, count: 64)
    #expect(
      hexadecimal(hash)
        == "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
        + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
  }

  @Test(
    arguments: [
      (16, "cf4ab791c62b8d2b2109c90275287816"),
      (32, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"),
    ])
  func `BLAKE2b gives the values of hashlib`(count: Int, expected: String) {
    #expect(hexadecimal(blake2b(Array("abc".utf8).span, count: count)) == expected)
  }

  @Test func `a key can be derived for guarded memory, too`() throws {
    let key = try GuardedKey(
      derivedFrom: GuardedKey(copying: [UInt8](0..<32).span), id: 1, context: "kistmach")
    let bytes = key.withBytes { bytes in bytes.indices.map { bytes[$0] } }
    #expect(
      hexadecimal(bytes) == "00a3e76863f853ac5feabb1514ae27ffec95f37855ea0fa8d538f911e98718b0")
  }

  @Test func `a derived key is BLAKE2b with the id as salt and the context as personalisation`()
    throws
  {
    let key = try SymmetricKey(
      derivedFrom: GuardedKey(copying: [UInt8](0..<32).span), id: 7,
      context: "kistTEST")
    #expect(seen(key) == "1db592f26e5b374c746fd55f03f51677b329455143d77e9dcf4b7c16de949d62")
    // SipHash-2-4 reads the first half of the key, and its value is little-endian.
    #expect(key.shortHash(Array("abc".utf8).span) == 0xfb3d_c0d1_7b98_e6a4)
  }

  @Test func `a stretched passphrase is Argon2id of one lane`() throws {
    let key = try SymmetricKey(
      stretching: Secret(utf8: "password"), salt: [UInt8](0..<16).span,
      cost: KDFCost(passes: 2, kibibytes: 1024))
    #expect(seen(key) == "b2011f6ef7a034dcc8573f387bb6ef743d14fa790cb3eac7b32278358ea7d230")
  }

  @Test(arguments: [
    (KDFCost.standard, true), (.least, true), (KDFCost(passes: 16, kibibytes: 1 << 20), true),
    (KDFCost(passes: 17, kibibytes: 8), false), (KDFCost(passes: 0, kibibytes: 8), false),
    (KDFCost(passes: 1, kibibytes: 7), false),
    (KDFCost(passes: 1, kibibytes: (1 << 20) + 1), false),
    (KDFCost(passes: 3, kibibytes: 1 << 30), false),
  ])
  func `a cost is accepted within its bounds`(cost: KDFCost, isAccepted: Bool) {
    #expect(cost.isAcceptable == isAccepted)
  }

  /// A key shows itself only in what it makes: its hash of nothing.
  private func seen(_ key: SymmetricKey) -> String {
    hexadecimal(key.hash([UInt8]().span, count: 32))
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
