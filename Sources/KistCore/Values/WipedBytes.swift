internal import Glibc

/// A growable buffer with one owner, which overwrites its memory before releasing it.
///
/// Functions that are called for every few bytes are inlined into other modules: the calls would
/// cost more than the copies.
@safe @usableFromInline
package struct WipedBytes: ~Copyable, @unchecked Sendable {
  @usableFromInline var memory: UnsafeMutableBufferPointer<UInt8>
  @usableFromInline package internal(set) var count = 0

  package init(capacity: Int = 64) { unsafe memory = Self.allocate(max(capacity, 1)) }

  deinit { unsafe Self.release(memory) }

  @inlinable package var capacity: Int { unsafe memory.count }

  @inlinable package mutating func append(_ byte: UInt8) {
    reserve(1)
    unsafe memory[count] = byte
    count += 1
  }

  @inlinable package mutating func append(_ bytes: Span<UInt8>) {
    reserve(bytes.count)
    unsafe bytes.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe (memory.baseAddress! + count).initialize(from: start, count: bytes.count)
    }
    count += bytes.count
  }

  @inlinable package mutating func append(utf8 string: String) { string.withBytes { append($0) } }

  /// Appends the output of the body, at most `capacity` bytes.
  @inlinable package mutating func append<Result, Failure: Error>(
    upTo capacity: Int, _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    reserve(capacity)
    let free = unsafe UnsafeMutableBufferPointer(rebasing: memory[count..<count + capacity])
    var output = unsafe OutputSpan(buffer: free, initializedCount: 0)
    let result = try body(&output)
    unsafe count += output.finalize(for: free)
    return result
  }

  /// Ensures capacity for additional bytes.
  @inlinable package mutating func reserve(_ additional: Int) {
    if count + additional > capacity { grow(by: additional) }
  }

  /// Overwrites and removes all bytes, and keeps the memory.
  package mutating func removeAll() {
    // The rest of the memory was never written, or was overwritten before.
    unsafe Self.wipe(UnsafeMutableBufferPointer(rebasing: memory[..<count]))
    count = 0
  }

  /// Overwrites and removes all but the first `count` bytes.
  package mutating func truncate(to count: Int) {
    precondition(count <= self.count)
    unsafe Self.wipe(UnsafeMutableBufferPointer(rebasing: memory[count...]))
    self.count = count
  }

  /// Calls the body with the bytes, which are valid only during the call.
  @inlinable package borrowing func withBytes<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let filled = unsafe UnsafeBufferPointer(start: memory.baseAddress, count: count)
    return try unsafe body(Span(_unsafeElements: filled))
  }

  // Not `realloc`, which may leave the old bytes in memory without wiping them.
  @usableFromInline mutating func grow(by additional: Int) {
    let larger = unsafe Self.allocate(max(capacity * 2, count + additional))
    let filled = unsafe UnsafeMutableBufferPointer(rebasing: memory[..<count])
    _ = unsafe larger.moveInitialize(fromContentsOf: filled)
    unsafe Self.release(memory)
    unsafe memory = larger
  }

  // Bytes need no alignment, so `malloc` is more direct than `allocate`.
  private static func allocate(_ capacity: Int) -> UnsafeMutableBufferPointer<UInt8> {
    guard let start = unsafe malloc(capacity) else { fatalError("there is no memory") }
    return unsafe UnsafeMutableBufferPointer(
      start: start.assumingMemoryBound(to: UInt8.self), count: capacity)
  }

  private static func release(_ memory: UnsafeMutableBufferPointer<UInt8>) {
    unsafe wipe(memory)
    unsafe free(memory.baseAddress)
  }

  private static func wipe(_ memory: UnsafeMutableBufferPointer<UInt8>) {
    if let start = memory.baseAddress { unsafe explicit_bzero(start, memory.count) }
  }
}
