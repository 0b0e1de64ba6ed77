internal import Glibc
internal import KistCore
internal import KistSystem

/// A file lock that one process holds at a time.
///
/// The kernel releases it when the process ends for any reason. The file is never removed: a
/// process that opens it during a removal would lock a file that no other process sees.
final class ProcessLock: Sendable {
  private let descriptor: CInt

  /// Takes the lock, or throws the error that `refusal` makes of its owner, such as "pid 123".
  ///
  /// - Parameter hint: the hint if the file cannot be locked at all.
  init(
    at path: String, hint: String, orElse refusal: (_ owner: String) -> StorageError
  ) throws(StorageError) {
    do throws(UnfitFile) { descriptor = try openOwnFile(path, O_RDWR | O_CREAT) } catch {
      throw .unfit(error, path, hint: hint)
    }
    guard Self.lock(descriptor) else {
      guard errno == EWOULDBLOCK else { throw .failed("lock", path, hint: hint) }
      throw refusal(Self.owner(descriptor))
    }
    guard writeLockText("\(getpid())\n", to: descriptor) else {
      throw .failed("write", path, hint: hint)
    }
  }

  /// Throws the error that `refusal` makes of the owner, if there is one; takes and creates
  /// nothing.
  ///
  /// - Parameter hint: the hint if the file cannot be opened.
  static func checkIsFree(
    at path: String, hint: String, orElse refusal: (_ owner: String) -> StorageError
  ) throws(StorageError) {
    let descriptor: CInt
    do throws(UnfitFile) { descriptor = try openOwnFile(path, O_RDONLY) } catch {
      if error.isMissing { return }
      throw .unfit(error, path, hint: hint)
    }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
      throw refusal(owner(descriptor))
    }
  }

  /// Tries for a quarter of a second, because a check of the lock holds it for a moment.
  private static func lock(_ descriptor: CInt) -> Bool {
    for _ in 0..<25 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
      guard errno == EWOULDBLOCK else { return false }
      usleep(10_000)
    }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }

  deinit { close(descriptor) }

  /// Releases the lock.
  func release() { flock(descriptor, LOCK_UN) }

  private static func owner(_ descriptor: CInt) -> String {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
    let digits = bytes.prefix(max(count, 0)).prefix { (0x30...0x39).contains($0) }
    return "pid " + (digits.isEmpty ? "unknown" : String(decoding: digits, as: UTF8.self))
  }
}
