internal import Glibc
internal import KistCore

/// Rewrites the valid part of a store's log with the same bytes, and waits until it is on disk.
///
/// After a failed flush, the system may keep data in memory and count it as flushed. The log is
/// then read with this data, but no later flush writes it to disk. A power cut would lose all that
/// was written after it. This cannot be detected, but data that is written again is also flushed
/// again. An interruption does no harm, because the bytes are the same.
///
/// SQLite ignores a log with an invalid header, and everything from the first invalid frame. That
/// part is not rewritten, so that a large sparse file does not fill the disk.
func rewriteLog(of path: String) throws(StorageError) {
  let log = path + "-wal"
  guard try isFilled(log) else { return }
  let descriptor = try Descriptor.open(log, O_RDWR)
  guard try descriptor.rewriteFrames(path: log) else { return }
  try descriptor.flush(path: log)
  try flushDirectory(of: log)
}

extension Descriptor {
  /// Rewrites the header and all valid frames; returns `false` when the header is invalid.
  fileprivate func rewriteFrames(path: String) throws(StorageError) -> Bool {
    var header = [UInt8](repeating: 0, count: LogFrames.headerSize)
    guard try read(&header, at: 0, path: path), var frames = LogFrames(header: header.span) else {
      return false
    }
    try write(header, at: 0, path: path)
    var frame = [UInt8](repeating: 0, count: frames.frameSize)
    var offset = header.count
    while try read(&frame, at: offset, path: path), frames.accept(frame.span) {
      try write(frame, at: offset, path: path)
      offset += frame.count
    }
    return true
  }

  /// Fills the buffer from an offset; returns `false` when the file ends before.
  private func read(
    _ buffer: inout [UInt8], at offset: Int, path: String
  ) throws(StorageError) -> Bool {
    var filled = 0
    while filled < buffer.count {
      let count = unsafe buffer.withUnsafeMutableBytes { bytes in
        unsafe pread(
          number, bytes.baseAddress! + filled, bytes.count - filled, off_t(offset + filled))
      }
      if count < 0 { throw .system("reading", path: path) }
      if count == 0 { return false }
      filled += count
    }
    return true
  }

  private func write(_ bytes: [UInt8], at offset: Int, path: String) throws(StorageError) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe pwrite(
          number, bytes.baseAddress! + written, bytes.count - written, off_t(offset + written))
      }
      if count < 0 { throw .system("writing", path: path) }
      written += count
    }
  }
}
