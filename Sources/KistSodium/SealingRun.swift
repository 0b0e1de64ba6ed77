internal import CSodium
package import KistCore

/// Seals several messages under one key, as `SymmetricKey.seal` does, for two thirds of its cost.
///
/// Each message has a different nonce: the nonce of the run, with its last eight bytes counted up.
/// A nonce would repeat within a run only after 2^64 messages. Two runs differ in the 16 random
/// bytes before the counter. The probability that two of 2^32 runs share them is 2^-65.
///
/// Use a run immediately and do not keep it: a machine restored from a copy would continue with the
/// counter of the copy.
///
/// XChaCha20 is ChaCha20 with a key derived from its own key and these 16 bytes
/// (draft-irtf-cfrg-xchacha-03, §2.3). A run derives that key once.
package struct SealingRun: ~Copyable {
  private let key: SymmetricKey
  private let prefix: InlineArray<16, UInt8>
  /// The nonce of ChaCha20: four zeros, and the last eight bytes of the XChaCha20 nonce.
  private var counter: InlineArray<12, UInt8>

  /// Begins a run with a nonce of 24 random bytes.
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
    let (prefix, nonce) = (prefix, takeNonce())
    sealed.append(prefix.span)
    sealed.append(nonce.span.extracting(4...))
    sealed.append(upTo: bytes.count + SymmetricKey.tagSize) { output in
      unsafe output.withUnsafeMutableBufferPointer { target, filled in
        key.withBytes { key in
          unsafe key.withUnsafeBufferPointer { key in
            unsafe bytes.withUnsafeBufferPointer { bytes in
              unsafe associatedData.withUnsafeBufferPointer { associatedData in
                unsafe nonce.span.withUnsafeBufferPointer { nonce in
                  _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                    target.baseAddress!, nil, bytes.baseAddress, UInt64(bytes.count),
                    associatedData.baseAddress, UInt64(associatedData.count), nil,
                    nonce.baseAddress!, key.baseAddress!)
                }
              }
            }
          }
        }
        filled = bytes.count + SymmetricKey.tagSize
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
