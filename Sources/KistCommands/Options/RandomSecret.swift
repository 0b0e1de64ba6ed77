internal import KistCore

/// Secrets of letters and digits, each drawn from the system's generator: getrandom(2).
///
/// A character is one of 62 and adds 5.95 bits, so 22 characters exceed 128 bits.
enum RandomSecret {
  static let lengths = 8...1024

  static func make(length: Int) -> Secret {
    var bytes = WipedBytes(capacity: length)
    // `randomElement` rejects values that would make some characters more likely than others.
    for _ in 0..<length { bytes.append(alphabet.randomElement()!) }
    return Secret(bytes)
  }

  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
}
