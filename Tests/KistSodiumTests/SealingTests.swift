import KistCore
import KistSodium
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Sealing` {
  let key = try! SymmetricKey(
    derivedFrom: GuardedKey(copying: [UInt8](0..<32).span), id: 1, context: "kistTEST")
  let nonce = [UInt8](repeating: 9, count: SymmetricKey.nonceSize)
  let place = Array("place".utf8)

  @Test(arguments: [0, 1, 15, 16, 17, 63, 64, 65, 1000, 100_000])
  func `what was sealed opens again`(size: Int) {
    let message = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
    let sealed = key.seal(message.span, for: place.span, nonce: nonce)
    #expect(sealed.count == size + 40)
    #expect(Array(sealed.prefix(24)) == nonce)
    #expect(opened(sealed, for: place) == message)
    #expect(isAuthentic(sealed, for: place))
  }

  @Test func `what is masked twice with one nonce is the text, and with two nonces is not`() {
    let text = Array("the name of a credential".utf8)
    let nonces = [UInt8(1), 2].map { [UInt8](repeating: $0, count: SymmetricKey.nonceSize) }
    let masked = key.masked(text.span, nonce: nonces[0])
    #expect(masked != text)
    #expect(key.masked(masked.span, nonce: nonces[0]) == text)
    #expect(key.masked(masked.span, nonce: nonces[1]) != text)
  }

  @Test func `what was changed anywhere does not open`() {
    let sealed = key.seal(Array("message".utf8).span, for: place.span, nonce: nonce)
    for offset in sealed.indices {
      for bit in 0..<8 {
        var changed = sealed
        changed[offset] ^= 1 << bit
        #expect(opened(changed, for: place) == nil)
        #expect(!isAuthentic(changed, for: place))
      }
    }
  }

  @Test func `what was cut does not open`() {
    let sealed = key.seal(Array("message".utf8).span, for: place.span, nonce: nonce)
    for size in sealed.indices {
      #expect(opened(Array(sealed.prefix(size)), for: place) == nil)
      #expect(!isAuthentic(Array(sealed.prefix(size)), for: place))
    }
  }

  @Test func `what was sealed for another place or under another key does not open`() throws {
    let sealed = key.seal(Array("message".utf8).span, for: place.span, nonce: nonce)
    #expect(opened(sealed, for: Array("Place".utf8)) == nil)
    #expect(opened(sealed, for: []) == nil)
    let other = try SymmetricKey(
      derivedFrom: GuardedKey.random(), id: 1, context: "kistTEST")
    #expect(opened(sealed, for: place, with: other) == nil)
  }

  private func opened(
    _ sealed: [UInt8], for place: [UInt8], with key: SymmetricKey? = nil
  ) -> [UInt8]? {
    guard let bytes = (key ?? self.key).open(sealed.span, for: place.span) else { return nil }
    return bytes.withBytes { bytes in bytes.indices.map { bytes[$0] } }
  }

  private func isAuthentic(_ sealed: [UInt8], for place: [UInt8]) -> Bool {
    key.isAuthentic(sealed.span, for: place.span)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A series of sealed messages` {
  private let key = try! SymmetricKey(
    derivedFrom: GuardedKey.random(), id: 1, context: "kistTEST")
  private let place = Array("place".utf8)

  private func sealed(_ messages: [[UInt8]], nonce: [UInt8]) throws -> [[UInt8]] {
    var series = try SealingSeries(under: key, nonce: nonce)
    return messages.map { message in
      var sealed = WipedBytes()
      series.seal(message.span, for: place.span, into: &sealed)
      return sealed.withBytes { bytes in bytes.indices.map { bytes[$0] } }
    }
  }

  @Test(arguments: [
    [UInt8](1...24), [UInt8](repeating: 0xFF, count: 24),
    [UInt8](1...16) + [0xFE, 0xFF, 0xFF, 0, 0, 0, 0, 0],
  ])
  func `gives the bytes that the key seals with each nonce, which counts up`(nonce: [UInt8]) throws
  {
    let messages = [0, 1, 64, 1000].map { [UInt8](repeating: 7, count: $0) }
    let count = nonce[16...].reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    for (offset, (message, sealed)) in zip(messages, try sealed(messages, nonce: nonce))
      .enumerated()
    {
      let number = count &+ UInt64(offset)
      let expected = nonce[..<16] + (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
      #expect(sealed == key.seal(message.span, for: place.span, nonce: Array(expected)))
    }
  }

  @Test func `repeats no nonce`() throws {
    let messages = [[UInt8]](repeating: [], count: 1000)
    let nonces = try sealed(messages, nonce: randomBytes(SymmetricKey.nonceSize)).map {
      $0.prefix(24)
    }
    #expect(Set(nonces).count == 1000)
  }
}
