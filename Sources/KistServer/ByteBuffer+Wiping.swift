internal import Glibc
internal import NIOCore

extension ByteBuffer {
  /// Overwrites the readable bytes in place, for every buffer that shares this storage.
  ///
  /// Writing through `ByteBuffer` would copy shared storage and leave the original unchanged. The
  /// pool of receive buffers and the queue of pending writes share it. The bytes must not be in use
  /// any more.
  func wipe() {
    unsafe withUnsafeReadableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
    }
  }
}
