internal import CSodium
package import KistCore
private import Synchronization

/// A key of 32 bytes that no code can access, not even in this process, except while it is being
/// read.
package final class GuardedKey: Sendable {
  /// The size of every key in bytes.
  package static let size = 32

  private let region: GuardedRegion
  private let readers = Mutex(0)

  /// Makes a key from the output of a function, which must fill all 32 bytes.
  package init(
    filledBy fill: (inout OutputSpan<UInt8>) throws(StorageError) -> Void
  ) throws(StorageError) {
    region = try GuardedRegion(count: Self.size, filledBy: fill)
    region.forbidAccess()
  }

  package static func random() throws(StorageError) -> GuardedKey {
    try GuardedKey { output throws(StorageError) in
      unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
        unsafe randombytes_buf(buffer.baseAddress!, buffer.count)
        filled = buffer.count
      }
    }
  }

  /// Copies a key from other memory.
  package convenience init(copying bytes: Span<UInt8>) throws(StorageError) {
    precondition(bytes.count == Self.size, "a key has 32 bytes")
    try self.init { output throws(StorageError) in
      for offset in bytes.indices { output.append(bytes[offset]) }
    }
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
