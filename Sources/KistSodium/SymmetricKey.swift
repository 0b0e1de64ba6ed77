internal import CSodium
package import KistCore

/// A key of 32 bytes in use, guarded like a `GuardedKey` but readable as long as it lives.
///
/// Changing the protection of a page at each use would cost more than the use.
package final class SymmetricKey: Sendable {
  private let region: GuardedRegion

  /// Whether the system keeps the key in RAM and out of swap, with mlock(2).
  package var isInRAM: Bool { region.isInRAM }

  private init(
    filledBy fill: (inout OutputSpan<UInt8>) throws(StorageError) -> Void
  ) throws(StorageError) {
    region = try GuardedRegion(size: GuardedKey.size, filledBy: fill)
    region.allowReading()
  }

  /// Derives a key from another, for a context of eight characters (`crypto_kdf_derive_from_key`).
  package convenience init(
    derivedFrom key: GuardedKey, id: UInt64, context: String
  ) throws(StorageError) {
    try self.init { output throws(StorageError) in
      key.derive(id: id, context: context, into: &output)
    }
  }

  /// Stretches a passphrase into a key with Argon2id (RFC 9106) and one lane.
  ///
  /// With the standard cost, this takes about half a second of processor time on an AMD EPYC.
  package convenience init(
    stretching passphrase: Secret, salt: Span<UInt8>, cost: KDFCost
  ) throws(StorageError) {
    precondition(salt.count == KDFCost.saltSize, "a salt has 16 bytes")
    try self.init { output throws(StorageError) in
      let status = passphrase.withBytes { passphrase in
        unsafe passphrase.withUnsafeBytes { passphrase in
          unsafe salt.withUnsafeBufferPointer { salt in
            unsafe output.fill {
              unsafe crypto_pwhash(
                $0, UInt64(GuardedKey.size),
                passphrase.baseAddress!.assumingMemoryBound(to: CChar.self),
                UInt64(passphrase.count), salt.baseAddress!, UInt64(cost.passes),
                Int(cost.kibibytes) << 10, crypto_pwhash_ALG_ARGON2ID13)
            }
          }
        }
      }
      guard status == 0 else {
        throw StorageError(
          .unavailable, "there is no memory for deriving a key (\(cost.kibibytes >> 10) MiB)",
          hint: "free some memory and try again")
      }
    }
  }

  /// Derives the key that XChaCha20 uses for nonces that begin with these 16 bytes (HChaCha20).
  convenience init(of key: SymmetricKey, forNoncesWith prefix: Span<UInt8>) throws(StorageError) {
    try self.init { output throws(StorageError) in
      unsafe key.withPointer { key in
        unsafe prefix.withUnsafeBufferPointer { prefix in
          _ = unsafe output.fill {
            unsafe crypto_core_hchacha20($0, prefix.baseAddress!, key, nil)
          }
        }
      }
      // The state, with the key, may remain on the stack.
      sodium_stackzero(4096)
    }
  }

  /// Returns a hash of 16 to 64 bytes (BLAKE2b, RFC 7693) with this key.
  package func hash(_ bytes: Span<UInt8>, count: Int) -> [UInt8] {
    unsafe withPointer { unsafe KistSodium.hash(bytes, key: $0, count: count) }
  }

  /// Writes the same hash, with as many bytes as the output can take.
  package func hash(_ bytes: Span<UInt8>, into output: inout OutputSpan<UInt8>) {
    let count = output.freeCapacity
    unsafe withPointer { key in
      unsafe output.fill { unsafe KistSodium.hash(bytes, key: key, into: $0, count: count) }
    }
  }

  /// Returns a hash of 64 bits (SipHash-2-4) with the first half of this key.
  package func shortHash(_ bytes: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0
    unsafe withPointer { key in
      unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe withUnsafeMutableBytes(of: &hash) { hash in
          _ = unsafe crypto_shorthash(
            hash.baseAddress!.assumingMemoryBound(to: UInt8.self), bytes.baseAddress,
            UInt64(bytes.count), key)
        }
      }
    }
    return hash
  }

  /// Calls the body with the address of the 32 bytes.
  func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    region.withBytes { key in
      unsafe key.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
    }
  }
}
