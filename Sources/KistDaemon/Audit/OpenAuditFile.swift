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
    while true {
      let descriptor = try openOwnFile(path, O_RDWR | O_CREAT | O_APPEND, hint: hint)
      fchmod(descriptor, 0o600)
      guard lockLog(descriptor, attempts: waiting ? 100 : 1) else {
        close(descriptor)
        throw StorageError(.busy, "another program holds the lock of \(path)", hint: hint)
      }
      // Another kistd may have renamed the file before this one locked it.
      if let status = fileStatus(of: descriptor), let named = fileStatus(ofLink: path),
        named.isSameFile(as: status)
      {
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
    let failure = writeAll(lines.span, to: descriptor)
    guard failure == 0 else {
      ftruncate(descriptor, off_t(size))
      throw .failed("write", path, hint: hint, errno: failure)
    }
    size += lines.count
  }

  /// Adds the missing newline after a line that a power failure cut off.
  mutating func endLine() {
    if size > 0, !endsWithNewline, writeAll([UInt8(ascii: "\n")].span, to: descriptor) == 0 {
      size += 1
    }
  }

  /// Passes the bytes of a range to the closure in pieces; the chain depends on their size.
  func readPieces(_ range: Range<Int>, _ body: ([UInt8]) -> Void) {
    KistDaemon.readPieces(of: descriptor, range, body)
  }

  private var endsWithNewline: Bool {
    bytes(of: descriptor, size - 1..<size) == [UInt8(ascii: "\n")]
  }
}

/// Locks a file of the log, and returns whether no other process holds the lock.
///
/// Another kistd releases the lock soon. The attempts are limited, because any other holder would
/// prevent this kistd from locking its storage and from ending. On a file system without locks,
/// kistd writes without a lock.
func lockLog(_ descriptor: CInt, _ kind: CInt = LOCK_EX, attempts: Int = 100) -> Bool {
  takeLock(descriptor, kind, attempts: attempts) || errno != EWOULDBLOCK
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
