import KistCore
import KistSodium
import Testing

/// The vectors are those of RFC 8032, section 7.1.
@Suite(.timeLimit(.minutes(5))) struct `Signing` {
  private static let vectors = [
    (
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        + "d25bf5f0595bbe24655141438e7a100b"
    ),
    (
      "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        + "4a7c15e9716ed28dc027beceea1ec40a"
    ),
  ]

  @Test(arguments: vectors)
  func `gives the keys and signatures of RFC 8032`(
    seed: String, publicKey: String, message: String, signature: String
  ) throws {
    let key = try SigningKey(seed: GuardedKey(copying: bytes(seed).span))
    #expect(key.publicKey == bytes(publicKey))
    #expect(key.sign(bytes(message).span) == bytes(signature))
    let isRight = isSignature(bytes(signature), of: bytes(message).span, by: bytes(publicKey))
    #expect(isRight)
  }

  @Test func `a signature of other bytes, by another key or with a changed bit is refused`() throws
  {
    let keys = try (0..<2).map { _ in try SigningKey(seed: .random()) }
    let message = Array("message".utf8)
    let signature = keys[0].sign(message.span)
    func isRight(_ signature: [UInt8], _ message: [UInt8], _ publicKey: [UInt8]) -> Bool {
      isSignature(signature, of: message.span, by: publicKey)
    }
    #expect(isRight(signature, message, keys[0].publicKey))
    #expect(!isRight(signature, message + [0], keys[0].publicKey))
    #expect(!isRight(signature, message, keys[1].publicKey))
    #expect(!isRight(Array(signature.dropLast()), message, keys[0].publicKey))
    #expect(!isRight(signature, message, Array(keys[0].publicKey.dropLast())))
    for offset in signature.indices {
      var changed = signature
      changed[offset] ^= 1
      #expect(!isRight(changed, message, keys[0].publicKey))
    }
  }

  @Test func `a public key of small order verifies nothing`() {
    // The point 1 and the signature (1, 0) fulfil the equation for every message.
    let one = [1] + [UInt8](repeating: 0, count: 31)
    let isRight = isSignature(
      one + [UInt8](repeating: 0, count: 32), of: Array("any".utf8).span, by: one)
    #expect(!isRight)
  }
}

/// The values come from PyNaCl, and the ephemeral key of the box from a seed of 32 bytes 9.
@Suite(.timeLimit(.minutes(5))) struct `Sealed boxes` {
  private let key = try! BoxKey(seed: GuardedKey(copying: [UInt8](0..<32).span))

  @Test func `open with the key of a seed, as another program made them`() {
    #expect(
      key.publicKey == bytes("4701d08488451f545a409fb58ae3e58581ca40ac3f7f114698cd71deac73ca01"))
    let box = bytes(
      "ede2393fe2defd0ff703799841c699b03fd634a9b9c411ed760df7bce5d5c267"
        + "6b12ec4afaabacb57c242788d43d645754a97d875c5f2bf2fe")
    #expect(opened(box) == Array("a message".utf8))
  }

  @Test(arguments: [0, 1, 68, 1000])
  func `open as they were sealed, with their own key alone`(size: Int) throws {
    let message = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
    let box = try #require(sealed(message, for: key.publicKey))
    #expect(box.count == size + BoxKey.overhead)
    #expect(opened(box) == message)
    #expect(sealed(message, for: key.publicKey) != box)
    let other = try BoxKey(seed: .random())
    #expect(opened(box, with: other) == nil)
    for offset in box.indices where offset < 80 {
      var changed = box
      changed[offset] ^= 1
      #expect(opened(changed) == nil)
    }
    #expect(opened(Array(box.prefix(47))) == nil && opened([]) == nil)
  }

  @Test func `are not sealed for what is not a public key`() {
    #expect(sealed([1], for: [UInt8](repeating: 0, count: 32)) == nil)
    #expect(sealed([1], for: [UInt8](repeating: 9, count: 31)) == nil)
  }

  private func sealed(_ message: [UInt8], for publicKey: [UInt8]) -> [UInt8]? {
    sealedBox(message.span, for: publicKey)
  }

  private func opened(_ box: [UInt8], with key: BoxKey? = nil) -> [UInt8]? {
    guard let bytes = (key ?? self.key).open(box.span) else { return nil }
    return bytes.withBytes { bytes in bytes.indices.map { bytes[$0] } }
  }
}

/// The bytes of hexadecimal digits.
private func bytes(_ digits: String) -> [UInt8] {
  let digits = Array(digits.utf8)
  return stride(from: 0, to: digits.count, by: 2).map { offset in
    digits[offset].hexadecimalValue! << 4 | digits[offset + 1].hexadecimalValue!
  }
}
