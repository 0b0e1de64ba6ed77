internal import CSodium
package import KistCore

/// A key that signs, and the public key that verifies its signatures (Ed25519, RFC 8032).
///
/// The secret part is guarded like a `SymmetricKey`.
package final class SigningKey: Sendable {
  /// The size of a public key in bytes.
  package static let publicSize = 32
  /// The size of a signature in bytes.
  package static let signatureSize = 64

  private let region: GuardedRegion
  /// The public key: 32 bytes, not secret.
  package let publicKey: [UInt8]

  /// Makes the pair of keys of a seed.
  package init(seed: GuardedKey) throws(StorageError) {
    var publicKey = [UInt8](repeating: 0, count: Self.publicSize)
    // libsodium's secret key is the seed and the public key.
    region = try GuardedRegion(size: 64) { output throws(StorageError) in
      seed.withBytes { seed in
        unsafe seed.withUnsafeBufferPointer { seed in
          _ = unsafe output.fill {
            unsafe crypto_sign_seed_keypair(&publicKey, $0, seed.baseAddress!)
          }
        }
      }
      // SHA-512 leaves the secret scalar on the stack.
      sodium_stackzero(4096)
    }
    region.allowReading()
    self.publicKey = publicKey
  }

  /// Returns the signature of some bytes.
  ///
  /// The same bytes always have the same signature.
  package func sign(_ bytes: Span<UInt8>) -> [UInt8] {
    let signature = unsafe KistSodium.bytes(Self.signatureSize) { signature in
      region.withBytes { key in
        unsafe key.withUnsafeBufferPointer { key in
          unsafe bytes.withUnsafeBufferPointer { bytes in
            _ = unsafe crypto_sign_detached(
              signature.baseAddress!, nil, bytes.baseAddress, UInt64(bytes.count), key.baseAddress!)
          }
        }
      }
    }
    sodium_stackzero(4096)
    return signature
  }
}

/// Returns whether a signature of some bytes was made with the secret part of a public key.
///
/// It is `false` for a key or a signature of another size, and for keys of small order.
package func isSignature(
  _ signature: [UInt8], of bytes: Span<UInt8>, by publicKey: [UInt8]
) -> Bool {
  startSodium()
  guard signature.count == SigningKey.signatureSize, publicKey.count == SigningKey.publicSize
  else { return false }
  return unsafe bytes.withUnsafeBufferPointer { bytes in
    unsafe crypto_sign_verify_detached(
      signature, bytes.baseAddress, UInt64(bytes.count), publicKey) == 0
  }
}
