internal import Glibc
internal import KistCore

/// Writes the log of a store, where there is one, over itself, and waits until it is on disk.
///
/// After a flush that failed, the system may keep what it was to flush, and count it as flushed: the log
/// is read with it, but no flush brings it to the disk any more, and at a power cut all is lost that was
/// written behind it. Nothing shows that in a log that is found; what is written anew is flushed anew. A
/// cut meanwhile does no harm, as the bytes are the same.
func rewriteLog(of path: String) throws(StorageError) {
  let log = path + "-wal"
  guard try isFilled(log) else { return }
  let descriptor = try Descriptor.open(log, O_RDWR)
  try descriptor.rewrite(path: log)
  try descriptor.flush(path: log)
  try flushDirectory(of: log)
}

extension Descriptor {
  fileprivate func rewrite(path: String) throws(StorageError) {
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    var offset: off_t = 0
    while true {
      let count = unsafe pread(number, &buffer, buffer.count, offset)
      if count < 0 { throw .system("reading", path: path) }
      if count == 0 { return }
      let written = unsafe pwrite(number, buffer, count, offset)
      if written < 0 { throw .system("writing", path: path) }
      offset += off_t(written)
    }
  }
}
