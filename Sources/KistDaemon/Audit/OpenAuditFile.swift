internal import Glibc
internal import KistCore
internal import KistSystem

/// The file of the audit log, opened and locked for writing.
struct OpenAuditFile: ~Copyable {
  private let descriptor: CInt
  let path: String
  private let hint: String
  /// The number that distinguishes the file from others that exist at the same time.
  let number: UInt64
  private(set) var size: Int

  /// Opens the file for this user alone, and creates it if it is missing.
  init(_ path: String, waiting: Bool, hint: String) throws(StorageError) {
    self.path = path
    self.hint = hint
    var status = stat()
    while true {
      let descriptor: CInt
      do throws(UnfitFile) {
        descriptor = try openOwnFile(path, O_RDWR | O_CREAT | O_APPEND)
      } catch { throw .unfit(error, path, hint: hint) }
      unsafe fstat(descriptor, &status)
      fchmod(descriptor, 0o600)
      guard lock(descriptor, attempts: waiting ? 100 : 1) else {
        close(descriptor)
        throw StorageError(.busy, "another program holds the lock of \(path)", hint: hint)
      }
      // Another kistd may have renamed the file before this one locked it.
      var named = stat()
      if unsafe lstat(path, &named) == 0, named.st_ino == status.st_ino {
        unsafe fstat(descriptor, &status)
        self.descriptor = descriptor
        number = UInt64(status.st_ino)
        size = Int(status.st_size)
        return
      }
      close(descriptor)
    }
  }

  deinit { close(descriptor) }

  /// Appends all lines or none, as far as the file system allows.
  mutating func append(_ lines: [UInt8]) throws(StorageError) {
    guard write(lines.span) else {
      let error = StorageError.failed("write", path, hint: hint)
      ftruncate(descriptor, off_t(size))
      throw error
    }
    size += lines.count
  }

  /// Adds the missing newline after a line that a power failure cut off.
  mutating func endLine() {
    if size > 0, !endsWithNewline, write(Array("\n".utf8).span) { size += 1 }
  }

  /// Passes the bytes of a range to the closure in pieces; the chain depends on their size.
  func readPieces(_ range: Range<Int>, _ body: ([UInt8]) -> Void) {
    KistDaemon.readPieces(of: descriptor, range, body)
  }

  private var endsWithNewline: Bool {
    var last: UInt8 = 0
    return unsafe pread(descriptor, &last, 1, off_t(size - 1)) == 1 && last == UInt8(ascii: "\n")
  }

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

/// Locks a file, waiting 10 ms between attempts, and returns whether it succeeded.
///
/// Another kistd releases the lock soon. The attempts are limited, because any other holder would
/// prevent this kistd from locking its storage and from ending.
func lock(_ descriptor: CInt, attempts: Int, _ kind: CInt = LOCK_EX) -> Bool {
  for _ in 0..<attempts {
    // On a file system without locks, kistd writes without a lock.
    if flock(descriptor, kind | LOCK_NB) == 0 || errno != EWOULDBLOCK { return true }
    usleep(10_000)
  }
  return false
}

/// Passes the bytes of a range of a file to the closure in pieces of 64 KiB.
///
/// The last piece may be shorter. It stops at the end of the file.
func readPieces(of descriptor: CInt, _ range: Range<Int>, _ body: ([UInt8]) -> Void) {
  var start = range.lowerBound
  while start < range.upperBound {
    let piece = bytes(of: descriptor, start..<min(start + (64 << 10), range.upperBound))
    guard !piece.isEmpty else { return }
    body(piece)
    start += piece.count
  }
}

/// Returns the bytes of a range of a file; fewer if the file ends before.
func bytes(of descriptor: CInt, _ range: Range<Int>) -> [UInt8] {
  // All empty arrays share one storage, to which the initializer would write its count.
  guard !range.isEmpty else { return [] }
  return unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
    while filled < range.count {
      let count = unsafe pread(
        descriptor, buffer.baseAddress! + filled, range.count - filled,
        off_t(range.lowerBound + filled))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      filled += count
    }
  }
}
