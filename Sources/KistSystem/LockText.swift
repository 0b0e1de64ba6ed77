internal import Glibc

/// Replaces the content of a lock file with a text for other processes to read.
///
/// Returns `false` where it cannot be written; `errno` gives the reason.
///
/// The text is only information. Without disk space the file stays empty, and the lock is still
/// held.
package func writeLockText(_ text: String, to descriptor: CInt) -> Bool {
  let bytes = Array(text.utf8)
  // Overwrites the old content, whose space is already allocated.
  let count = unsafe pwrite(descriptor, bytes, bytes.count, 0)
  guard count >= 0 || isFull(errno) else { return false }
  // An empty file is better than half a text, or the text of a previous owner.
  return ftruncate(descriptor, count == bytes.count ? off_t(count) : 0) == 0 || isFull(errno)
}

private func isFull(_ number: CInt) -> Bool { [ENOSPC, EDQUOT].contains(number) }
