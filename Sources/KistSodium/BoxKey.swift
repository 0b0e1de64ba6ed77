internal import CSodium
package import KistCore

/// A key that opens sealed boxes, and the public key that seals them (X25519).
///
/// The secret part is guarded like a `SymmetricKey`.
package final class BoxKey: Sendable {
  /// The size of a public key in bytes.
  package static let publicSize = 32
  /// The number of bytes by which a box is longer than its message.
  package static let overhead = 48

  private let region: GuardedRegion
  /// The public key: 32 bytes, not secret.
  package let publicKey: [UInt8]

  /// Makes the pair of keys of a seed (`crypto_box_seed_keypair`).
  package init(seed: GuardedKey) throws(StorageError) {
    var publicKey = [UInt8](repeating: 0, count: Self.publicSize)
    region = try GuardedRegion(size: 32) { output throws(StorageError) in
      seed.withBytes { seed in
        unsafe seed.withUnsafeBufferPointer { seed in
          _ = unsafe output.fill {
            unsafe crypto_box_seed_keypair(&publicKey, $0, seed.baseAddress!)
          }
        }
      }
      // SHA-512 leaves the secret key on the stack.
      sodium_stackzero(4096)
    }
    region.allowReading()
    self.publicKey = publicKey
  }

  /// Opens a box; returns `nil` if it was changed, or was sealed for another key.
  ///
  /// A box says nothing about who sealed it.
  package func open(_ box: Span<UInt8>) -> WipedBytes? {
    let count = box.count - Self.overhead
    guard count >= 0 else { return nil }
    var opened = WipedBytes(capacity: count)
    let isAuthentic = opened.append(upTo: count) { output in
      unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
        filled = count
        return unsafe open(box, into: buffer.baseAddress)
      }
    }
    guard isAuthentic else { return nil }
    return opened
  }

  private func open(_ box: Span<UInt8>, into target: UnsafeMutablePointer<UInt8>?) -> Bool {
    region.withBytes { key in
      unsafe key.withUnsafeBufferPointer { key in
        unsafe box.withUnsafeBufferPointer { box in
          unsafe crypto_box_seal_open(
            target, box.baseAddress!, UInt64(box.count), publicKey, key.baseAddress!) == 0
        }
      }
    }
  }
}

/// Seals bytes for the owner of a public key (`crypto_box_seal`: X25519, XSalsa20-Poly1305).
///
/// Each call makes a new pair of keys, so two boxes of the same bytes differ. Returns `nil` for a
/// public key of another size, or of small order.
package func sealedBox(_ bytes: Span<UInt8>, for publicKey: [UInt8]) -> [UInt8]? {
  startSodium()
  guard publicKey.count == BoxKey.publicSize else { return nil }
  var isSealed = false
  let box = unsafe KistSodium.bytes(bytes.count + BoxKey.overhead) { box in
    unsafe bytes.withUnsafeBufferPointer { bytes in
      isSealed =
        unsafe crypto_box_seal(
          box.baseAddress!, bytes.baseAddress, UInt64(bytes.count), publicKey) == 0
    }
  }
  return isSealed ? box : nil
}
