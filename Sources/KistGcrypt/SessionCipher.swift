internal import CGcrypt
package import KistCore

/// The cipher of a session: AES-128 in CBC mode with the padding of PKCS#7.
///
/// The Secret Service prescribes it. It does not authenticate the secret, so a decryption checks
/// the padding and nothing else.
package struct SessionCipher: Sendable {
  /// The bytes of a key.
  package static let keySize = 16
  /// The bytes of a block, and of an initialization vector.
  package static let blockSize = 16

  private let key: Secret

  /// Makes a cipher with a key of 16 bytes.
  package init(key: Secret) {
    precondition(key.count == Self.keySize, "a key has 16 bytes")
    startGcrypt()
    self.key = key
  }

  /// Encrypts a secret with a random initialization vector.
  package func encrypt(_ secret: Secret) -> (vector: [UInt8], sealed: [UInt8]) {
    let vector = unsafe [UInt8](unsafeUninitializedCapacity: Self.blockSize) { buffer, count in
      unsafe gcry_create_nonce(buffer.baseAddress, Self.blockSize)
      count = Self.blockSize
    }
    let padding = Self.blockSize - secret.count % Self.blockSize
    var padded = WipedBytes(capacity: secret.count + padding)
    secret.withBytes { padded.append($0) }
    for _ in 0..<padding { padded.append(UInt8(padding)) }
    let count = padded.count
    let sealed = padded.withBytes { padded in
      unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
        unsafe padded.withUnsafeBytes { padded in
          unsafe withHandle(vector) { handle in
            unsafe mustSucceed(
              gcry_cipher_encrypt(handle, buffer.baseAddress, count, padded.baseAddress, count))
          }
        }
        written = count
      }
    }
    return (vector, sealed)
  }

  /// Decrypts a secret; returns `nil` if the sizes or the padding are wrong.
  package func decrypt(_ sealed: Secret, vector: [UInt8]) -> Secret? {
    let count = sealed.count
    guard vector.count == Self.blockSize, count > 0, count % Self.blockSize == 0 else { return nil }
    let padded = sealed.withBytes { sealed in
      unsafe sealed.withUnsafeBytes { sealed in
        unsafe Secret(written: count) { target in
          unsafe withHandle(vector) { handle in
            unsafe mustSucceed(
              gcry_cipher_decrypt(handle, target, count, sealed.baseAddress, count))
          }
        }
      }
    }
    return padded.withBytes { padded in
      let padding = Int(padded[count - 1])
      guard (1...Self.blockSize).contains(padding),
        (count - padding..<count).allSatisfy({ padded[$0] == padding })
      else { return nil }
      return Secret(copying: padded.extracting(..<(count - padding)))
    }
  }

  private func withHandle(_ vector: [UInt8], _ body: (gcry_cipher_hd_t?) -> Void) {
    var handle: gcry_cipher_hd_t?
    unsafe mustSucceed(
      gcry_cipher_open(
        &handle, CInt(GCRY_CIPHER_AES.rawValue), CInt(GCRY_CIPHER_MODE_CBC.rawValue), 0))
    // Overwrites the key schedule.
    defer { unsafe gcry_cipher_close(handle) }
    key.withBytes { key in
      unsafe key.withUnsafeBytes { key in
        unsafe mustSucceed(gcry_cipher_setkey(handle, key.baseAddress, key.count))
      }
    }
    unsafe mustSucceed(gcry_cipher_setiv(handle, vector, vector.count))
    unsafe body(handle)
  }
}
