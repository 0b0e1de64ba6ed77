internal import Glibc
internal import KistCore
internal import KistVault

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
    let header = try bytes(upTo: LogFrames.headerSize, at: 0, path: path)
    guard header.count == LogFrames.headerSize, var frames = LogFrames(header: header.span) else {
      return false
    }
    try write(header.span, at: 0, path: path)
    var offset = header.count
    while true {
      let frame = try bytes(upTo: frames.frameSize, at: offset, path: path)
      guard frame.count == frames.frameSize, frames.accept(frame.span) else { return true }
      try write(frame.span, at: offset, path: path)
      offset += frame.count
    }
  }
}
