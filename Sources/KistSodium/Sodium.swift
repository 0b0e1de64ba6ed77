internal import CSodium

/// Starts libsodium, before any other call of it; it selects the fastest code for this processor.
func startSodium() { precondition(sodiumHasStarted, "libsodium could not be started") }

private let sodiumHasStarted = sodium_init() >= 0

/// Returns random bytes from the system's generator.
package func randomBytes(_ count: Int) -> [UInt8] {
  startSodium()
  return unsafe bytes(count) { unsafe randombytes_buf($0.baseAddress!, count) }
}

/// Returns `count` bytes, all of which the function must write.
func bytes(_ count: Int, writtenBy write: (UnsafeMutableBufferPointer<UInt8>) -> Void) -> [UInt8] {
  var bytes: [UInt8] = []
  // This does not first fill the array with zeros. Other ways to avoid that are not specialized
  // for bytes.
  bytes.append(addingCapacity: count) { output in
    unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
      unsafe write(buffer)
      filled = count
    }
  }
  return bytes
}

/// Returns a hash of 16 to 64 bytes (BLAKE2b, RFC 7693), without a key.
package func blake2b(_ bytes: Span<UInt8>, count: Int) -> [UInt8] {
  startSodium()
  return hash(bytes, key: nil, count: count)
}

/// Returns a BLAKE2b hash with a key of 32 bytes, or without one.
func hash(_ bytes: Span<UInt8>, key: UnsafePointer<UInt8>?, count: Int) -> [UInt8] {
  unsafe KistSodium.bytes(count) { buffer in
    unsafe hash(bytes, key: key, into: buffer.baseAddress!, count: count)
  }
}

/// Writes the hash that `hash(_:key:count:)` returns.
func hash(
  _ bytes: Span<UInt8>, key: UnsafePointer<UInt8>?, into output: UnsafeMutablePointer<UInt8>,
  count: Int
) {
  unsafe bytes.withUnsafeBufferPointer { bytes in
    let status = unsafe crypto_generichash(
      output, count, bytes.baseAddress, UInt64(bytes.count), key, key == nil ? 0 : GuardedKey.size)
    precondition(status == 0, "BLAKE2b hashes have 16 to 64 bytes")
  }
}

extension OutputSpan<UInt8> {
  /// Calls the body with the address of the output, which it must fill.
  mutating func fill<Result>(_ body: (UnsafeMutablePointer<UInt8>) -> Result) -> Result {
    unsafe withUnsafeMutableBufferPointer { buffer, filled in
      filled = buffer.count
      return unsafe body(buffer.baseAddress!)
    }
  }
}

/// The cost of stretching a passphrase: time and memory for each attempt.
package struct KDFCost: Sendable, Equatable {
  /// The number of passes over the memory.
  package var passes: UInt32
  /// The memory in KiB.
  package var kibibytes: UInt32

  /// The size of the salt in bytes.
  package static let saltSize = 16

  package init(passes: UInt32, kibibytes: UInt32) {
    (self.passes, self.kibibytes) = (passes, kibibytes)
  }

  /// The cost of a new slot: 256 MiB and 3 passes.
  package static let standard = KDFCost(passes: 3, kibibytes: 256 << 10)

  /// The minimum that libsodium accepts, for tests.
  package static let least = KDFCost(passes: 1, kibibytes: 8)

  /// The maximum that is accepted: 1 GiB and 16 passes.
  package static let greatest = KDFCost(passes: 16, kibibytes: 1 << 20)

  /// The KiB processed in all passes, which determine the time.
  package var work: UInt64 { UInt64(passes) * UInt64(kibibytes) }

  /// Whether a stored cost is within the limits, so that a forged slot cannot use up memory or time.
  package var isAcceptable: Bool {
    (Self.least.passes...Self.greatest.passes).contains(passes)
      && (Self.least.kibibytes...Self.greatest.kibibytes).contains(kibibytes)
  }
}
