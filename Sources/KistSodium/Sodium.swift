internal import CSodium

/// Starts libsodium, which selects the fastest code for this processor.
///
/// Every function of this module that needs libsodium calls this first. Only the first call has an
/// effect.
func startSodium() { precondition(sodiumHasStarted, "libsodium could not be started") }

private let sodiumHasStarted = sodium_init() >= 0

/// Returns random bytes from the system's generator.
package func randomBytes(_ count: Int) -> [UInt8] {
  startSodium()
  return unsafe bytes(count) { unsafe randombytes_buf($0.baseAddress!, count) }
}

/// Returns as many bytes as a function writes.
func bytes(_ count: Int, writtenBy write: (UnsafeMutableBufferPointer<UInt8>) -> Void) -> [UInt8] {
  var bytes: [UInt8] = []
  // Other ways to make an array without zeros are not specialized for bytes.
  bytes.append(addingCapacity: count) { output in
    unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
      unsafe write(buffer)
      filled = count
    }
  }
  return bytes
}

/// Returns the unkeyed BLAKE2b hash of some bytes (RFC 7693), 16 to 64 bytes long.
package func blake2b(_ bytes: Span<UInt8>, count: Int) -> [UInt8] {
  startSodium()
  return unsafe hash(bytes, key: UnsafeRawBufferPointer(start: nil, count: 0), count: count)
}

/// Returns a BLAKE2b hash with a key, or without one where the key is empty.
func hash(_ bytes: Span<UInt8>, key: UnsafeRawBufferPointer, count: Int) -> [UInt8] {
  unsafe KistSodium.bytes(count) { unsafe hash(bytes, key: key, into: $0) }
}

/// Writes the same hash, with as many bytes as the output has.
func hash(
  _ bytes: Span<UInt8>, key: UnsafeRawBufferPointer, into output: UnsafeMutableBufferPointer<UInt8>
) {
  unsafe bytes.withUnsafeBufferPointer { bytes in
    let status = unsafe crypto_generichash(
      output.baseAddress!, output.count, bytes.baseAddress, UInt64(bytes.count), key.baseAddress,
      key.count)
    precondition(status == 0, "BLAKE2b hashes have 16 to 64 bytes")
  }
}
