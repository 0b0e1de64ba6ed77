internal import Glibc
internal import KistCore

/// The right to a socket's path, which one process has at a time: a lock on a file beside it.
///
/// The kernel gives it up with the process, however that ends, so a socket whose lock is free is
/// stale. The file is never removed, because who opens it while it is being removed would lock a
/// file that nobody else can see.
final class SocketLock: Sendable {
  private let descriptor: CInt

  /// Takes the lock, or is `unavailable`, naming who has it.
  init(beside socket: String) throws(StorageError) {
    let path = socket + ".lock"
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .failed("open", path) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw .failed("lock", path) }
      throw StorageError(
        .unavailable, "kistd is already running, \(owner())",
        hint: "use that one at \(socket), or name another socket with --socket")
    }
    let pid = Array("\(getpid())\n".utf8)
    guard
      ftruncate(descriptor, 0) == 0,
      unsafe pwrite(descriptor, pid, pid.count, 0) == pid.count
    else { throw .failed("write", path) }
  }

  deinit { close(descriptor) }

  private func owner() -> String {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
    let digits = bytes.prefix(max(count, 0)).prefix { (0x30...0x39).contains($0) }
    return "pid " + (digits.isEmpty ? "unknown" : String(decoding: digits, as: UTF8.self))
  }
}
