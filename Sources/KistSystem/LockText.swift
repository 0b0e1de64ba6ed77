internal import Glibc

/// Puts a text in the place of what is in a lock's file, for others to read; `false` where it cannot be
/// written, and `errno` says why.
///
/// It only informs: where there is no space for it, the file says nothing, and the lock holds all the same.
package func writeLockText(_ text: String, to descriptor: CInt) -> Bool {
  let bytes = Array(text.utf8)
  // Over what is there, for which there is space.
  let count = unsafe pwrite(descriptor, bytes, bytes.count, 0)
  guard count >= 0 || isFull(errno) else { return false }
  // Better nobody than half of a text, or the one of whoever had it before.
  return ftruncate(descriptor, count == bytes.count ? off_t(count) : 0) == 0 || isFull(errno)
}

private func isFull(_ number: CInt) -> Bool { [ENOSPC, EDQUOT].contains(number) }
