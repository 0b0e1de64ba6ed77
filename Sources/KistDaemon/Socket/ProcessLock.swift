internal import Glibc
internal import KistCore
internal import KistSystem

/// A file lock that one process holds at a time.
///
/// The kernel releases the lock when the process ends for any reason. The file is never removed: a
/// process that opens it during a removal would lock a file that no other process sees.
final class ProcessLock: Sendable {
  private let descriptor: CInt

  /// Takes the lock, or throws the error that `refusal` returns for its owner.
  init(
    at path: String, hint: String, orElse refusal: (LockOwner) -> StorageError
  ) throws(StorageError) {
    descriptor = try openOwnFile(path, O_RDWR | O_CREAT, hint: hint)
    guard takeLock(descriptor) else {
      guard errno == EWOULDBLOCK else { throw .failed("lock", path, hint: hint) }
      throw refusal(LockOwner(of: descriptor))
    }
    guard writeLockText("\(getpid())\n", to: descriptor) else {
      throw .failed("write", path, hint: hint)
    }
  }

  /// Throws where `init` would, for example because it could not write the file.
  ///
  /// Keeps no lock, and creates and changes no file.
  static func checkIsFree(
    at path: String, hint: String, orElse refusal: (LockOwner) -> StorageError
  ) throws(StorageError) {
    guard let descriptor = try openIfPresent(path, O_RDWR, hint: hint) else { return }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
      throw refusal(LockOwner(of: descriptor))
    }
  }

  deinit { close(descriptor) }

  func release() { flock(descriptor, LOCK_UN) }
}
