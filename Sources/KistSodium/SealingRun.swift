internal import CSodium
package import KistCore

/// Seals one thing after another under one key, as `SymmetricKey.seal` does, for two thirds of its cost.
///
/// Each has a nonce of its own: the one that the run began with, whose last eight bytes are counted up.
/// None comes twice in a run, as that would take 2^64 of them; and none of one run comes in another, as
/// the 16 bytes before those differ: they are random, and that two of 2^32 runs have the same has
/// the probability 2^-65. A run is for what is sealed at once, and not kept: a machine that is restored
/// from a copy goes on with the count of the copy.
///
/// XChaCha20 is ChaCha20 with a key that is made of its own and these 16 bytes
/// (draft-irtf-cfrg-xchacha-03, §2.3), which a run makes once.
package struct SealingRun: ~Copyable {
  private let key: SymmetricKey
  private let prefix: InlineArray<16, UInt8>
  /// ChaCha20's nonce: four zeros, and the last eight bytes of XChaCha20's.
  private var counter: InlineArray<12, UInt8>

  /// Begins a run with a nonce of 24 random bytes.
  package init(under key: SymmetricKey, nonce: [UInt8]) throws(StorageError) {
    precondition(nonce.count == SymmetricKey.nonceSize, "a nonce has 24 bytes")
    let prefix = InlineArray<16, UInt8> { nonce[$0] }
    self.prefix = prefix
    counter = InlineArray { $0 < 4 ? 0 : nonce[12 + $0] }
    self.key = try SymmetricKey(of: key, forNoncesWith: prefix.span)
  }

  /// Encrypts bytes, binds them to the associated data, and appends what `SymmetricKey.open` opens.
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
