internal import KistCore
internal import KistGcrypt
internal import KistJSON

/// The exchange `sx-aes-1`, in which a prompter sends a passphrase encrypted.
///
/// A message is text: a line with the name, and lines such as `public=BASE64`.
struct SecretExchange {
  private static let name = "[sx-aes-1]"

  private let exchange = KeyExchange(.modp1536)
  private let cipher: SessionCipher

  /// Takes the first message of the prompter; `nil` if it has no valid public key.
  init?(_ received: String) {
    guard let key = Self.value("public", in: received),
      let cipher = exchange.cipher(sharedWith: key.withBytes { $0.array })
    else { return nil }
    self.cipher = cipher
  }

  /// The message to the prompter, with the public key.
  var message: String {
    var text = WipedBytes()
    Secret(copying: exchange.publicKey).withBytes { appendBase64($0, to: &text) }
    return "\(Self.name)\npublic=\(text.withBytes { String(repairing: $0) })\n"
  }

  /// Returns the passphrase in a message of the prompter; `nil` if there is none.
  func passphrase(in received: String) -> Secret? {
    guard let sealed = Self.value("secret", in: received),
      let vector = Self.value("iv", in: received)
    else { return nil }
    return cipher.decrypt(sealed, vector: vector.withBytes { $0.array })
  }

  private static func value(_ key: String, in message: String) -> Secret? {
    let lines = message.split(separator: "\n")
    guard lines.first == name[...], let line = lines.first(where: { $0.hasPrefix(key + "=") })
    else {
      return nil
    }
    var bytes = WipedBytes()
    let isValid = Secret(utf8: String(line.dropFirst(key.utf8.count + 1))).withBytes {
      appendDecodedBase64($0, to: &bytes)
    }
    return isValid ? Secret(bytes) : nil
  }
}

extension Span<UInt8> {
  fileprivate var array: [UInt8] { indices.map { self[$0] } }
}
