internal import CSodium
package import KistCore

/// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03). What is sealed is the nonce, the ciphertext and
/// the tag, one after the other.
extension SymmetricKey {
  /// Bytes of a nonce, which is drawn at random for each sealing.
  package static let nonceSize = 24
  /// Bytes of the tag at the end of what is sealed.
  package static let tagSize = 16

  /// Encrypts bytes and binds them to the associated data.
  package func seal(_ bytes: Span<UInt8>, for associatedData: Span<UInt8>, nonce: [UInt8])
    -> [UInt8]
  {
    precondition(nonce.count == Self.nonceSize, "a nonce has 24 bytes")
    let size = Self.nonceSize + bytes.count + Self.tagSize
    return unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
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
      filled = size
    }
  }

  /// Decrypts what was sealed for the same associated data, straight into wiped memory; `nil` when
  /// it is not authentic.
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

  /// Whether `open` would succeed; decrypts nothing.
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
