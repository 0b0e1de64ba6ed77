internal import CSodium
internal import KistCore

/// Memory between two guard pages (`sodium_malloc`).
///
/// It is locked into RAM where the system allows it, excluded from core dumps, and overwritten when
/// released.
@safe
final class GuardedRegion: @unchecked Sendable {
  private let start: UnsafeMutableRawPointer
  private let count: Int
  /// Whether the system keeps the region in RAM and out of swap, with mlock(2).
  let isInRAM: Bool

  /// Allocates a region and calls the body, which must fill it completely.
  init(
    count: Int, filledBy fill: (inout OutputSpan<UInt8>) throws(StorageError) -> Void
  ) throws(StorageError) {
    startSodium()
    guard let start = unsafe sodium_malloc(count) else {
      throw StorageError(
        .unavailable, "there is no memory for a key",
        hint: "free some memory, or raise the limit of locked memory (`ulimit -l`)")
    }
    unsafe self.start = unsafe start
    self.count = count
    // sodium_malloc also locks it, but ignores a failure. The memory counts only once against the
    // limit.
    isInRAM = unsafe sodium_mlock(start, count) == 0
    let memory = unsafe UnsafeMutableBufferPointer(
      start: start.assumingMemoryBound(to: UInt8.self), count: count)
    var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
    try fill(&output)
    precondition(output.isFull, "a key was not filled")
    _ = unsafe output.finalize(for: memory)
  }

  // sodium_free makes the region writable by itself.
  deinit { unsafe sodium_free(start) }

  func forbidAccess() { check(unsafe sodium_mprotect_noaccess(start)) }

  func allowReading() { check(unsafe sodium_mprotect_readonly(start)) }

  func withBytes<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let memory = unsafe UnsafeBufferPointer(
      start: UnsafePointer(start.assumingMemoryBound(to: UInt8.self)), count: count)
    let bytes = unsafe Span(_unsafeElements: memory)
    defer { extendLifetime(self) }
    return try body(bytes)
  }

  private func check(_ status: Int32) { precondition(status == 0, "memory was not protected") }
}
