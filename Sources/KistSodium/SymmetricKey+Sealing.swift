internal import CSodium
package import KistCore

/// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03).
///
/// A sealed message is the nonce, the ciphertext and the tag, in this order.
extension SymmetricKey {
  /// The size of a nonce in bytes; each sealing uses a random one.
  package static let nonceSize = 24
  /// The size in bytes of the tag at the end of a sealed message.
  package static let tagSize = 16

  /// Encrypts bytes and binds them to the associated data.
  package func seal(_ bytes: Span<UInt8>, for associatedData: Span<UInt8>, nonce: [UInt8])
    -> [UInt8]
  {
    precondition(nonce.count == Self.nonceSize, "a nonce has 24 bytes")
    let size = Self.nonceSize + bytes.count + Self.tagSize
    return unsafe KistSodium.bytes(size) { buffer in
      _ = unsafe buffer.initialize(fromContentsOf: nonce)
      let target = buffer.baseAddress!
      withBytes { key in
        unsafe key.withUnsafeBufferPointer { key in
          unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe associatedData.withUnsafeBufferPointer { associatedData in
              _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                target + Self.nonceSize, nil, bytes.baseAddress, UInt64(bytes.count),
                associatedData.baseAddress, UInt64(associatedData.count), nil, target,
                key.baseAddress!)
            }
          }
        }
      }
    }
  }

  /// Decrypts a message into memory that is wiped; `nil` when it is not authentic with this data.
  package func open(_ sealed: Span<UInt8>, for associatedData: Span<UInt8>) -> WipedBytes? {
    let count = sealed.count - Self.nonceSize - Self.tagSize
    guard count >= 0 else { return nil }
    var opened = WipedBytes(capacity: count)
    let isAuthentic = opened.append(upTo: count) { output in
      unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
        let isAuthentic = unsafe decrypt(sealed, for: associatedData, into: buffer.baseAddress)
        if isAuthentic { filled = count }
        return isAuthentic
      }
    }
    guard isAuthentic else { return nil }
    return opened
  }

  /// Returns whether `open` would succeed, without decrypting.
  package func isAuthentic(_ sealed: Span<UInt8>, for associatedData: Span<UInt8>) -> Bool {
    guard sealed.count >= Self.nonceSize + Self.tagSize else { return false }
    return unsafe decrypt(sealed, for: associatedData, into: nil)
  }

  private func decrypt(
    _ sealed: Span<UInt8>, for associatedData: Span<UInt8>,
    into target: UnsafeMutablePointer<UInt8>?
  ) -> Bool {
    withBytes { key in
      unsafe key.withUnsafeBufferPointer { key in
        unsafe sealed.withUnsafeBufferPointer { sealed in
          unsafe associatedData.withUnsafeBufferPointer { associatedData in
            let nonce = sealed.baseAddress!
            return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
              target, nil, nil, nonce + Self.nonceSize, UInt64(sealed.count - Self.nonceSize),
              associatedData.baseAddress, UInt64(associatedData.count), nonce, key.baseAddress!)
              == 0
          }
        }
      }
    }
  }
}
