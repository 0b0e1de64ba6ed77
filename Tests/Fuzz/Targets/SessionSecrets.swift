import KistCore
import KistGcrypt

/// The public key of a program, a secret that it encrypted, and one that kist encrypts.
///
/// The first byte is the length of the key. The rest is an initialization vector and a secret.
let sessionSecrets = Target("session-secrets") { input in
  var input = input
  let key = input.bytes(Int(input.byte()))
  let exchange = KeyExchange()
  let size = KeyExchange.Group.modp1024.size
  demand(exchange.publicKey.count == size, "a public key has 128 bytes")
  let cipher =
    exchange.cipher(sharedWith: key) ?? SessionCipher(key: Secret(copying: Array(0..<16)))
  let number = key.drop { $0 == 0 }
  demand(
    key.count <= size + 1 && !number.isEmpty && Array(number) != [1]
      || exchange.cipher(sharedWith: key) == nil, "a bad key is refused")
  let vector = input.bytes(input.choice(of: 18))
  let sealed = input.rest
  if let secret = cipher.decrypt(Secret(copying: sealed), vector: vector) {
    demand(
      sealed.count % SessionCipher.blockSize == 0 && vector.count == SessionCipher.blockSize
        && (1...SessionCipher.blockSize).contains(sealed.count - secret.count),
      "only whole blocks with padding are decrypted")
  }
  let secret = Secret(copying: sealed)
  let (fresh, encrypted) = cipher.encrypt(secret)
  demand(
    cipher.decrypt(Secret(copying: encrypted), vector: fresh) == secret,
    "a secret is decrypted as it was encrypted")
}
