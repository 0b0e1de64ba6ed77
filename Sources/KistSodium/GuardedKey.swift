internal import CSodium
package import KistCore
private import Synchronization

/// A key of 32 bytes.
///
/// Its memory is inaccessible, even to this process, except during `withBytes`.
package final class GuardedKey: Sendable {
  /// The size of every key in bytes.
  package static let size = 32

  private let region: GuardedRegion
  private let readers = Mutex(0)

  /// Makes a key from the output of a function, which must fill all 32 bytes.
  package init(
    filledBy fill: (inout OutputSpan<UInt8>) throws(StorageError) -> Void
  ) throws(StorageError) {
    region = try GuardedRegion(size: Self.size, filledBy: fill)
    region.forbidAccess()
  }

  package static func random() throws(StorageError) -> GuardedKey {
    try GuardedKey { output throws(StorageError) in
      unsafe output.fill { unsafe randombytes_buf($0, size) }
    }
  }

  /// Copies a key from other memory.
  package convenience init(copying bytes: Span<UInt8>) throws(StorageError) {
    precondition(bytes.count == Self.size, "a key has 32 bytes")
    try self.init { output throws(StorageError) in
      for offset in bytes.indices { output.append(bytes[offset]) }
    }
  }

  /// Derives a key from another, for a context of eight characters (`crypto_kdf_derive_from_key`).
  package convenience init(
    derivedFrom key: GuardedKey, id: UInt64, context: String
  ) throws(StorageError) {
    try self.init { output throws(StorageError) in
      key.derive(id: id, context: context, into: &output)
    }
  }

  /// Writes the key that is derived from this one.
  func derive(id: UInt64, context: String, into output: inout OutputSpan<UInt8>) {
    precondition(context.utf8.count == 8, "a context has eight characters")
    let status = withBytes { key in
      unsafe key.withUnsafeBufferPointer { key in
        unsafe output.fill {
          unsafe crypto_kdf_derive_from_key($0, Self.size, id, context, key.baseAddress!)
        }
      }
    }
    precondition(status == 0, "a subkey has 32 bytes")
    // BLAKE2b leaves its state, with the key, on the stack.
    sodium_stackzero(4096)
  }

  /// Returns a hash of 16 to 64 bytes (BLAKE2b, RFC 7693) with this key.
  package func hash(_ bytes: Span<UInt8>, count: Int) -> [UInt8] {
    let hash = withBytes { key in
      unsafe key.withUnsafeBufferPointer { key in
        unsafe KistSodium.hash(bytes, key: key.baseAddress!, count: count)
      }
    }
    sodium_stackzero(4096)
    return hash
  }

  /// Calls the body with the bytes, which are valid only during the call.
  ///
  /// The region stays readable until the last such call ends.
  package func withBytes<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    readers.withLock { readers in
      if readers == 0 { region.allowReading() }
      readers += 1
    }
    defer {
      readers.withLock { readers in
        readers -= 1
        if readers == 0 { region.forbidAccess() }
      }
    }
    return try region.withBytes(body)
  }
}

/// The memory of a key, between two guard pages (`sodium_malloc`).
///
/// It is locked into RAM where the system allows it, excluded from core dumps, and overwritten when
/// released.
@safe
final class GuardedRegion: @unchecked Sendable {
  private let memory: UnsafeMutableBufferPointer<UInt8>
  /// Whether the system keeps the region in RAM and out of swap, with mlock(2).
  let isInRAM: Bool

  /// Allocates a region and calls the body, which must fill it completely.
  ///
  /// - Parameter size: the size in bytes.
  init(
    size: Int, filledBy fill: (inout OutputSpan<UInt8>) throws(StorageError) -> Void
  ) throws(StorageError) {
    startSodium()
    guard let start = unsafe sodium_malloc(size) else {
      throw StorageError(
        .unavailable, "there is no memory for a key",
        hint: "free some memory, or raise the limit of locked memory (`ulimit -l`)")
    }
    unsafe memory = UnsafeMutableBufferPointer(
      start: start.assumingMemoryBound(to: UInt8.self), count: size)
    // sodium_malloc also locks it, but ignores a failure. The memory counts only once against the
    // limit.
    isInRAM = unsafe sodium_mlock(start, size) == 0
    var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
    try fill(&output)
    precondition(output.isFull, "a key was not filled")
    _ = unsafe output.finalize(for: memory)
  }

  // sodium_free makes the region writable by itself.
  deinit { unsafe sodium_free(memory.baseAddress) }

  func forbidAccess() { check(unsafe sodium_mprotect_noaccess(memory.baseAddress!)) }

  func allowReading() { check(unsafe sodium_mprotect_readonly(memory.baseAddress!)) }

  func withBytes<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let bytes = unsafe Span(_unsafeElements: memory)
    defer { extendLifetime(self) }
    return try body(bytes)
  }

  private func check(_ status: Int32) { precondition(status == 0, "memory was not protected") }
}
