internal import CSodium
package import KistCore
private import Synchronization

/// A key of 32 bytes that cannot be touched, by this process either, except while it is being read.
package final class GuardedKey: Sendable {
  /// Bytes of every key.
  package static let size = 32

  private let region: GuardedRegion
  private let readers = Mutex(0)

  /// Makes a key of what the function puts out, which must be all 32 bytes.
  package init(
    filledBy fill: (inout OutputSpan<UInt8>) throws(StorageError) -> Void
  ) throws(StorageError) {
    region = try GuardedRegion(count: Self.size, filledBy: fill)
    region.forbidAccess()
  }

  /// Makes a random key.
  package static func random() throws(StorageError) -> GuardedKey {
    try GuardedKey { output throws(StorageError) in
      unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
        unsafe randombytes_buf(buffer.baseAddress!, buffer.count)
        filled = buffer.count
      }
    }
  }

  /// Copies a key out of other memory.
  package convenience init(copying bytes: Span<UInt8>) throws(StorageError) {
    precondition(bytes.count == Self.size, "a key has 32 bytes")
    try self.init { output throws(StorageError) in
      for offset in bytes.indices { output.append(bytes[offset]) }
    }
  }

  /// Lends the bytes for the length of a call; the region is readable until the last such call ends.
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
