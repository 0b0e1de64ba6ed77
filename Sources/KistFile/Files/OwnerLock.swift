internal import Glibc
internal import KistCore
internal import KistSystem
private import Synchronization

/// The right to open a store, which one process has at a time: a lock on a file beside it.
///
/// The file is never removed, because who opens it while it is being removed would lock a file that
/// nobody else can see. It says who holds the lock: the pid and the id of the system's boot.
final class OwnerLock: Sendable {
  private let descriptor: Mutex<Descriptor?>

  /// Takes the lock, or throws this code and names who has it.
  init(
    beside path: String, orRefuseWith code: StorageError.Code = .unavailable
  ) throws(StorageError) {
    let path = path + ".lock"
    let descriptor = try Descriptor.open(path, O_RDWR | O_CREAT)
    guard Self.lock(descriptor) else {
      throw errno == EWOULDBLOCK
        ? try Self.refusal(code, from: descriptor, path: path) : .system("locking", path: path)
    }
    try descriptor.setMode(0o600, path: path)
    guard writeLockText("\(getpid()) \(try Self.bootID())\n", to: descriptor.number) else {
      throw .system("writing", path: path)
    }
    self.descriptor = Mutex(descriptor)
  }

  /// Waits a quarter of a second: whoever looks which storage there is has the lock for a moment.
  private static func lock(_ descriptor: borrowing Descriptor) -> Bool {
    for _ in 0..<25 {
      if flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 { return true }
      guard errno == EWOULDBLOCK || errno == EINTR else { return false }
      usleep(10_000)
    }
    return flock(descriptor.number, LOCK_EX | LOCK_NB) == 0
  }

  deinit { release() }

  /// Gives the lock up.
  func release() {
    descriptor.withLock { descriptor in
      // Closing alone would leave it with a child that is between its `fork` and its `exec`.
      if let descriptor { flock(descriptor.number, LOCK_UN) }
      descriptor = nil
    }
  }

  private static func refusal(
    _ code: StorageError.Code, from descriptor: borrowing Descriptor, path: String
  ) throws(StorageError) -> StorageError {
    let digits = try text(of: descriptor, path: path).prefix { $0.isWholeNumber }
    let owner = digits.isEmpty ? "another process" : "pid \(digits)"
    return StorageError(
      code, "the store is in use by \(owner)",
      hint: digits.isEmpty
        ? "stop it, or use it instead, at the socket that its log names"
        : "use it instead, at the socket that its log names; or stop a service with "
          + "`systemctl --user stop kistd.socket kistd-credentials.socket kistd.service`, "
          + "another with `kill \(digits)`")
  }

  private static func bootID() throws(StorageError) -> String {
    let path = "/proc/sys/kernel/random/boot_id"
    guard let descriptor = Descriptor.openIfPresent(path, O_RDONLY) else { return "-" }
    return String(try text(of: descriptor, path: path).prefix { !$0.isNewline })
  }

  private static func text(of descriptor: borrowing Descriptor, path: String) throws(StorageError)
    -> String
  {
    String(decoding: try descriptor.read(upTo: 128, path: path), as: UTF8.self)
  }
}
