internal import Glibc
internal import KistCore
internal import KistSystem

/// A file of the audit log, opened for reading up to the end that it had when it was opened.
final class OpenLog {
  let path: String
  /// The number that distinguishes the file from others that exist at the same time.
  let number: UInt64
  let size: Int
  let descriptor: CInt

  /// Opens a file, or returns `nil` if it is missing; `locking` waits for the end of writes to it.
  init?(_ path: String, locking: Bool = true, hint: String) throws(StorageError) {
    self.path = path
    guard let descriptor = try openIfPresent(path, O_RDONLY, hint: hint) else { return nil }
    self.descriptor = descriptor
    let isLocked = !locking || lockLog(descriptor, LOCK_SH)
    let status = fileStatus(of: descriptor) ?? stat()
    if locking { flock(descriptor, LOCK_UN) }
    number = UInt64(status.st_ino)
    size = Int(status.st_size)
    guard isLocked else { throw .lockedLog(path, hint: hint) }
  }

  deinit { close(descriptor) }

  func lines(from start: Int = 0) -> Lines { Lines(file: self, position: start) }

  struct Lines {
    fileprivate let file: OpenLog
    /// The position of the next line.
    fileprivate(set) var position: Int
    /// The bytes that were read from that position on.
    fileprivate var bytes: ArraySlice<UInt8> = []

    /// Returns the next complete line without its newline, empty if too long; `nil` at the end.
    mutating func next() -> [UInt8]? {
      var size = 0
      while true {
        if let newline = bytes.firstIndex(of: 0x0A) {
          let line = bytes[..<newline]
          bytes = bytes[(newline + 1)...]
          size += line.count
          position += size + 1
          return size == line.count && size <= BackwardLines.longestLine ? Array(line) : []
        }
        if bytes.count > BackwardLines.longestLine {
          size += bytes.count
          bytes = []
        }
        let start = position + size + bytes.count
        let piece = KistSystem.bytes(
          of: file.descriptor, start..<min(start + pieceSize, max(start, file.size)))
        guard !piece.isEmpty else { return nil }
        bytes = bytes + piece
      }
    }
  }
}

/// The lines of a file from its end to its beginning, read piece by piece.
final class BackwardLines {
  /// A line without its newline, which is `nil` if the line is too long or only a part of a line,
  /// and the position after its newline.
  typealias Element = (line: [UInt8]?, end: Int)

  /// The maximum length of a line in bytes; kistd does not write longer lines.
  static let longestLine = 16 << 10
  /// The number of bytes of a line that are skipped at once.
  private static let longestPart = 16 << 20

  private let file: OpenLog
  /// The bytes that were read but not yet returned, and their position in the file.
  private var bytes: [UInt8] = []
  private var start: Int

  /// Opens a file; `nil` if there is none.
  init?(_ path: String, hint: String) throws(StorageError) {
    guard let file = try OpenLog(path, locking: false, hint: hint) else { return nil }
    self.file = file
    start = file.size
  }

  var number: UInt64 { file.number }
  var size: Int { file.size }

  /// The end of the next line.
  var position: Int { start + bytes.count }

  /// Continues at the end of a line that was returned earlier.
  func `continue`(from end: Int) { start = min(start, end) }

  /// Returns the previous line; skips text without a newline at its end.
  func next() -> Element? {
    while true {
      let end = position
      let isEnded = bytes.last == 0x0A
      if let newline = bytes.dropLast(isEnded ? 1 : 0).lastIndex(of: 0x0A) {
        let line = bytes[(newline + 1)...]
        defer { bytes.removeSubrange((newline + 1)...) }
        if isEnded { return (line.count > Self.longestLine ? nil : Array(line.dropLast()), end) }
      } else if start == 0 {
        defer { bytes = [] }
        guard isEnded else { return nil }
        return (bytes.count > Self.longestLine ? nil : bytes.dropLast(), end)
      } else if bytes.count > Self.longestLine {
        skipLine()
        return (nil, end)
      } else if !readPiece() {
        return nil
      }
    }
  }

  /// Skips the rest of a line that is too long, and keeps none of it.
  private func skipLine() {
    let end = position
    bytes = []
    while start > 0, end - start < Self.longestPart {
      guard readPiece() else { return }
      if let newline = bytes.lastIndex(of: 0x0A) {
        bytes.removeSubrange((newline + 1)...)
        return
      }
      bytes = []
    }
  }

  private func readPiece() -> Bool {
    let count = min(pieceSize, start)
    let piece = KistSystem.bytes(of: file.descriptor, start - count..<start)
    guard piece.count == count else { return false }
    start -= count
    bytes = piece + bytes
    return true
  }
}

/// The number of bytes that are read at once; links depend on it, so it must not change.
private let pieceSize = 64 << 10

/// Passes the bytes of a range to the closure in pieces of 64 KiB, up to the end of the file.
func readPieces(of descriptor: CInt, _ range: Range<Int>, _ body: ([UInt8]) -> Void) {
  var start = range.lowerBound
  while start < range.upperBound {
    let piece = bytes(of: descriptor, start..<min(start + pieceSize, range.upperBound))
    guard !piece.isEmpty else { return }
    body(piece)
    start += piece.count
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

extension StorageError {
  static func lockedLog(_ path: String, hint: String) -> StorageError {
    StorageError(.busy, "another program holds the lock of \(path)", hint: hint)
  }
}
