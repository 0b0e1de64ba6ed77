internal import KistCore

/// Secrets of letters and digits, each drawn by the system's generator: getrandom(2).
///
/// A character is one of 62, so that it adds 5.95 bits: 22 of them exceed 128 bits.
enum RandomSecret {
  static let lengths = 8...1024

  static func make(length: Int) -> Secret {
    var bytes = WipedBytes(capacity: length)
    // `randomElement` rejects what would make some characters likelier than others.
    for _ in 0..<length { bytes.append(alphabet.randomElement()!) }
    return Secret(bytes)
  }

  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
}
