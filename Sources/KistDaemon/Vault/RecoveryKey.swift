internal import KistCore
internal import KistShared
internal import KistSodium

/// The seed of a machine as text that a user writes on paper.
///
/// The text has 14 groups of four characters: the 32 bytes of the seed and three bytes of its hash, in
/// base32 (RFC 4648). Its alphabet has no 0, 1, 8 or 9, which look like letters.
enum RecoveryKey {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
  private static let checksumSize = 3
  private static let size = GuardedKey.size + checksumSize
  private static let characters = size * 8 / 5

  static func text(of seed: GuardedKey) -> Secret {
    var bytes = WipedBytes(capacity: size)
    seed.withBytes { bytes.append($0) }
    bytes.append(checksum(of: seed).span)
    var text = WipedBytes(capacity: characters * 5 / 4)
    bytes.withBytes { bytes in
      for place in 0..<characters {
        if place > 0, place.isMultiple(of: 4) { text.append(UInt8(ascii: " ")) }
        let (first, offset) = (place * 5).quotientAndRemainder(dividingBy: 8)
        let pair = UInt16(bytes[first]) << 8 | UInt16(first + 1 < size ? bytes[first + 1] : 0)
        text.append(alphabet[Int(pair >> (11 - offset) & 31)])
      }
    }
    return Secret(text)
  }

  /// Reads the text, and ignores case, spaces and hyphens; throws `badRequest` if it has a mistake.
  static func seed(of text: Secret) throws(StorageError) -> GuardedKey {
    var bytes = WipedBytes(capacity: size)
    let isText = text.withBytes { text in
      var (bits, count) = (UInt16(0), 0)
      var places = 0
      for index in text.indices where !Array(" -\t\r\n".utf8).contains(text[index]) {
        let character = text[index] >= UInt8(ascii: "a") ? text[index] & 0xDF : text[index]
        guard let value = alphabet.firstIndex(of: character), places < characters else {
          return false
        }
        places += 1
        bits = bits << 5 | UInt16(value)
        count += 5
        if count >= 8 {
          count -= 8
          bytes.append(UInt8(truncatingIfNeeded: bits >> count))
          bits &= 1 << count - 1
        }
      }
      return places == characters
    }
    guard isText else { throw .mistyped }
    let (seed, check) = try bytes.withBytes { bytes throws(StorageError) in
      let end = bytes.extracting(GuardedKey.size...)
      return (
        try GuardedKey(copying: bytes.extracting(..<GuardedKey.size)), end.indices.map { end[$0] }
      )
    }
    guard checksum(of: seed) == check else { throw .mistyped }
    return seed
  }

  private static func checksum(of seed: GuardedKey) -> [UInt8] {
    Array(seed.hash(Array("kist recovery key".utf8).span, count: 16).prefix(checksumSize))
  }
}

extension StorageError {
  fileprivate static let mistyped = badRequest(
    "this is not a recovery key, or a character of it is wrong",
    hint: "type all 14 groups of four characters that `kistd vault recovery` printed")
}
