internal import Glibc
internal import KistCore
internal import KistSystem

/// A right that one process has at a time: a lock on a file.
///
/// The kernel gives it up with the process, however that ends. The file is never removed, because who
/// opens it while it is being removed would lock a file that nobody else can see.
final class ProcessLock: Sendable {
  private let descriptor: CInt

  /// Takes the lock, or throws what is said of its owner, "pid 123".
  ///
  /// - Parameter hint: what to do where the file cannot be locked at all.
  init(
    at path: String, hint: String, orElse refusal: (_ owner: String) -> StorageError
  ) throws(StorageError) {
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .failed("open", path, hint: hint) }
    guard Self.lock(descriptor) else {
      guard errno == EWOULDBLOCK else { throw .failed("lock", path, hint: hint) }
      throw refusal(Self.owner(descriptor))
    }
    guard writeLockText("\(getpid())\n", to: descriptor) else {
      throw .failed("write", path, hint: hint)
    }
  }

  /// Throws what is said of the owner, where there is one; takes and makes nothing.
  static func checkIsFree(
    at path: String, orElse refusal: (_ owner: String) -> StorageError
  ) throws(StorageError) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
      throw refusal(owner(descriptor))
    }
  }

  /// Waits a quarter of a second: whoever looks whether it is free has the lock for a moment.
  private static func lock(_ descriptor: CInt) -> Bool {
    for _ in 0..<25 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
      guard errno == EWOULDBLOCK else { return false }
      usleep(10_000)
    }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }

  deinit { close(descriptor) }

  /// Gives the lock up.
  func release() { flock(descriptor, LOCK_UN) }

  private static func owner(_ descriptor: CInt) -> String {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
    let digits = bytes.prefix(max(count, 0)).prefix { (0x30...0x39).contains($0) }
    return "pid " + (digits.isEmpty ? "unknown" : String(decoding: digits, as: UTF8.self))
  }
}
