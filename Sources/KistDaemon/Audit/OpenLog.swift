internal import Glibc
internal import KistCore
internal import KistSystem

/// A file of the audit log, opened for reading up to the end that it had when it was opened.
final class OpenLog {
  let path: String
  /// The number that distinguishes the file from others that exist at the same time.
  let number: UInt64
  let size: Int
  private let descriptor: CInt

  /// Opens a file while no write to it is in progress; `nil` if there is none.
  init?(_ path: String, hint: String) throws(StorageError) {
    self.path = path
    guard let descriptor = try openIfPresent(path, hint: hint) else { return nil }
    self.descriptor = descriptor
    let isLocked = lockLog(descriptor, LOCK_SH)
    let status = fileStatus(of: descriptor) ?? stat()
    flock(descriptor, LOCK_UN)
    number = UInt64(status.st_ino)
    size = Int(status.st_size)
    guard isLocked else {
      throw StorageError(.busy, "another program holds the lock of \(path)", hint: hint)
    }
  }

  deinit { close(descriptor) }

  /// Passes the bytes of a range to the closure in pieces; the chain depends on their size.
  func readPieces(_ range: Range<Int>, _ body: ([UInt8]) -> Void) {
    KistDaemon.readPieces(of: descriptor, range, body)
  }

  /// Returns the lines from a position on.
  func lines(from start: Int = 0) -> Lines { Lines(file: self, position: start) }

  /// Lines that are read piece by piece.
  struct Lines {
    fileprivate let file: OpenLog
    /// The position of the next line.
    private(set) var position: Int
    /// The bytes that were read from that position on.
    private var bytes: ArraySlice<UInt8> = []

    fileprivate init(file: OpenLog, position: Int) {
      self.file = file
      self.position = position
    }

    /// Returns the next line without its newline, empty if it is too long; `nil` at the end.
    ///
    /// Text without a newline at its end does not count as a line.
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
          of: file.descriptor, start..<min(start + (64 << 10), max(start, file.size)))
        guard !piece.isEmpty else { return nil }
        bytes = bytes + piece
      }
    }
  }
}
