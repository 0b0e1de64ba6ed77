internal import Glibc
internal import NIOCore

extension ByteBuffer {
  /// Overwrites the readable bytes where they are, for every buffer that shares this storage.
  ///
  /// Writing through `ByteBuffer` would copy a shared storage and leave the original as it was, and
  /// the pool of receive buffers and the queue of pending writes do share it. Nobody may be reading
  /// the bytes any more.
  func wipe() {
    unsafe withUnsafeReadableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
    }
  }
}
