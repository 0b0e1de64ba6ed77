internal import Glibc
internal import KistCore
internal import KistSystem

/// The file of the audit log, and the older one that it was renamed to when it was full.
struct AuditFile: Sendable {
  /// Where it is.
  let path: String
  /// The bytes that the two take at most together.
  let limit: Int

  /// The one before.
  var olderPath: String { path + ".1" }

  /// Appends whole lines, to a new file where there is no room in this one.
  ///
  /// It is opened each time: it may have been taken away, and nothing is open while nobody asks.
  ///
  /// - Parameter waiting: whether a second is waited for a lock that somebody else has on the file.
  func append(_ lines: Span<UInt8>, waiting: Bool = true) throws(StorageError) {
    try makeDirectory(directory(of: path), hint: hint)
    var file = try OpenAuditFile(path, waiting: waiting, hint: hint)
    if file.size > 0, file.size + lines.count > limit / 2 {
      guard unsafe rename(path, olderPath) == 0 else { throw .failed("rename", path, hint: hint) }
      file = try OpenAuditFile(path, waiting: waiting, hint: hint)
    }
    try file.append(lines)
  }

  private var hint: String {
    "requests are served without it; see to the directory, or start kistd with `--audit off`"
  }
}

/// The file, opened and locked by the one who writes to it.
private struct OpenAuditFile: ~Copyable {
  private let descriptor: CInt
  private let path: String
  private let hint: String
  private(set) var size: Int

  /// Opens it, for this user alone, and makes it where there is none.
  init(_ path: String, waiting: Bool, hint: String) throws(StorageError) {
    self.path = path
    self.hint = hint
    var status = stat()
    while true {
      let descriptor = unsafe open(
        path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
      guard descriptor >= 0 else { throw .failed("open", path, hint: hint) }
      unsafe fstat(descriptor, &status)
      guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
        close(descriptor)
        throw StorageError(.denied, "\(path) is not a file of yours", hint: hint)
      }
      fchmod(descriptor, 0o600)
      guard lock(descriptor, attempts: waiting ? 100 : 1) else {
        close(descriptor)
        throw StorageError(.busy, "another program holds the lock of \(path)", hint: hint)
      }
      // Another kistd may have renamed it before the lock was there.
      var named = stat()
      if unsafe lstat(path, &named) == 0, named.st_ino == status.st_ino {
        unsafe fstat(descriptor, &status)
        self.descriptor = descriptor
        size = Int(status.st_size)
        return
      }
      close(descriptor)
    }
  }

  deinit { close(descriptor) }

  /// All of it or nothing, as far as the file system lets that be.
  mutating func append(_ lines: Span<UInt8>) throws(StorageError) {
    if size > 0, !endsWithNewline { write(Array("\n".utf8).span) }
    guard write(lines) else {
      let error = StorageError.failed("write", path, hint: hint)
      ftruncate(descriptor, off_t(size))
      throw error
    }
  }

  /// What was cut off, by a power cut, is a line of its own.
  private var endsWithNewline: Bool {
    var last: UInt8 = 0
    return unsafe pread(descriptor, &last, 1, off_t(size - 1)) == 1 && last == UInt8(ascii: "\n")
  }

  @discardableResult
  private func write(_ bytes: Span<UInt8>) -> Bool {
    unsafe bytes.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let count = unsafe Glibc.write(
          descriptor, bytes.baseAddress! + written, bytes.count - written)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return false }
        written += count
      }
      return true
    }
  }
}

/// Locks a file, and waits 10 ms between attempts: another kistd is soon done with it, and who else has it
/// locked would keep this one from locking its storage, and from ending.
private func lock(_ descriptor: CInt, attempts: Int) -> Bool {
  for _ in 0..<attempts {
    // Where files cannot be locked at all, they are written without.
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return true }
    usleep(10_000)
  }
  return false
}
