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
  package func seal(
    _ bytes: Span<UInt8>, for associatedData: Span<UInt8>, nonce: [UInt8]
  ) -> [UInt8] {
    precondition(nonce.count == Self.nonceSize, "a nonce has 24 bytes")
    let size = Self.nonceSize + bytes.count + Self.tagSize
    return unsafe KistSodium.bytes(size) { buffer in
      _ = unsafe buffer.initialize(fromContentsOf: nonce)
      let target = buffer.baseAddress!
      unsafe withPointer { key in
        unsafe bytes.withUnsafeBufferPointer { bytes in
          unsafe associatedData.withUnsafeBufferPointer { associatedData in
            _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
              target + Self.nonceSize, nil, bytes.baseAddress, UInt64(bytes.count),
              associatedData.baseAddress, UInt64(associatedData.count), nil, target, key)
          }
        }
      }
    }
  }

  /// Encrypts or decrypts bytes with XChaCha20 alone, for memory that only this process can change.
  ///
  /// Each nonce must encrypt one text only.
  package func masked(_ bytes: Span<UInt8>, nonce: [UInt8]) -> [UInt8] {
    precondition(nonce.count == Self.nonceSize, "a nonce has 24 bytes")
    return unsafe KistSodium.bytes(bytes.count) { buffer in
      let target = buffer.baseAddress!
      unsafe withPointer { key in
        unsafe bytes.withUnsafeBufferPointer { bytes in
          _ = unsafe crypto_stream_xchacha20_xor(
            target, bytes.baseAddress!, UInt64(bytes.count), nonce, key)
        }
      }
    }
  }

  /// Decrypts a message into memory that is wiped after use.
  ///
  /// Returns `nil` if the message is not authentic with this associated data.
  package func open(_ sealed: Span<UInt8>, for associatedData: Span<UInt8>) -> WipedBytes? {
    let count = sealed.count - Self.nonceSize - Self.tagSize
    guard count >= 0 else { return nil }
    var opened = WipedBytes(capacity: count)
    let isAuthentic = opened.append(upTo: count) { output in
      unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
        filled = count
        return unsafe decrypt(sealed, for: associatedData, into: buffer.baseAddress)
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
    unsafe withPointer { key in
      unsafe sealed.withUnsafeBufferPointer { sealed in
        unsafe associatedData.withUnsafeBufferPointer { associatedData in
          let nonce = sealed.baseAddress!
          return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
            target, nil, nil, nonce + Self.nonceSize, UInt64(sealed.count - Self.nonceSize),
            associatedData.baseAddress, UInt64(associatedData.count), nonce, key) == 0
        }
      }
    }
  }
}

/// Seals several messages under one key, as `SymmetricKey.seal` does, for two thirds of its cost.
///
/// Each message has a different nonce: the nonce of the series, with its last eight bytes counted up.
/// A nonce would repeat within a series only after 2^64 messages. Two series differ in the 16 random
/// bytes before the counter. The probability that two of 2^32 series share them is 2^-65.
///
/// Use a series immediately and do not keep it. Otherwise, a virtual machine that is restored from a
/// snapshot would continue with the counter of the snapshot, and use the same nonces again.
///
/// XChaCha20 is ChaCha20 with a key derived from its own key and these 16 bytes
/// (draft-irtf-cfrg-xchacha-03, §2.3). A series derives that key once.
package struct SealingSeries: ~Copyable {
  private let key: SymmetricKey
  private let prefix: InlineArray<16, UInt8>
  /// The nonce of ChaCha20: four zeros, and the last eight bytes of the XChaCha20 nonce.
  private var counter: InlineArray<12, UInt8>

  /// Begins a series with a nonce of 24 random bytes.
  package init(under key: SymmetricKey, nonce: [UInt8]) throws(StorageError) {
    precondition(nonce.count == SymmetricKey.nonceSize, "a nonce has 24 bytes")
    let prefix = InlineArray<16, UInt8> { nonce[$0] }
    self.prefix = prefix
    counter = InlineArray { $0 < 4 ? 0 : nonce[12 + $0] }
    self.key = try SymmetricKey(of: key, forNoncesWith: prefix.span)
  }

  /// Encrypts bytes, binds them to the associated data, and appends a message for
  /// `SymmetricKey.open`.
  package mutating func seal(
    _ bytes: Span<UInt8>, for associatedData: Span<UInt8>, into sealed: inout WipedBytes
  ) {
    let nonce = takeNonce()
    sealed.append(prefix.span)
    sealed.append(nonce.span.extracting(4...))
    sealed.append(upTo: bytes.count + SymmetricKey.tagSize) { output in
      unsafe key.withPointer { key in
        unsafe bytes.withUnsafeBufferPointer { bytes in
          unsafe associatedData.withUnsafeBufferPointer { associatedData in
            unsafe nonce.span.withUnsafeBufferPointer { nonce in
              _ = unsafe output.fill { target in
                unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                  target, nil, bytes.baseAddress, UInt64(bytes.count), associatedData.baseAddress,
                  UInt64(associatedData.count), nil, nonce.baseAddress!, key)
              }
            }
          }
        }
      }
    }
  }

  private mutating func takeNonce() -> InlineArray<12, UInt8> {
    defer {
      for offset in 4..<counter.count {
        counter[offset] &+= 1
        if counter[offset] != 0 { break }
      }
    }
    return counter
  }
}
