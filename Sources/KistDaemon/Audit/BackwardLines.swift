internal import Glibc
internal import KistCore

/// The lines of a file from its end to its beginning, read a piece at a time.
final class BackwardLines {
  /// A line without its newline, and where its newline ends.
  typealias Element = (line: [UInt8], end: Int)

  /// Bytes of a piece.
  private static let piece = 64 << 10
  /// A longer line is none of ours, and ends the reading.
  private static let longest = 1 << 20

  /// What tells the file from others that are there at the same time.
  let number: UInt64
  private let descriptor: CInt
  /// What was read, and not given yet, and where it begins in the file.
  private var bytes: [UInt8] = []
  private var start: Int

  /// Opens a file; `nil` where there is none.
  init?(_ path: String, hint: String) throws(StorageError) {
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw .failed("read", path, hint: hint) }
      return nil
    }
    var status = stat()
    unsafe fstat(descriptor, &status)
    number = UInt64(status.st_ino)
    start = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Goes on at the end of a line that was given before.
  func `continue`(from end: Int) { start = min(start, end) }

  /// The line before; what is not ended by a newline is none.
  func next() -> Element? {
    while true {
      if let newline = bytes.last == 0x0A
        ? bytes.dropLast().lastIndex(of: 0x0A) : bytes.lastIndex(of: 0x0A)
      {
        let line = Array(bytes[(newline + 1)...])
        let end = start + bytes.count
        bytes.removeSubrange((newline + 1)...)
        if line.last == 0x0A { return (line.dropLast(), end) }
        continue
      }
      if start == 0 || bytes.count > Self.longest {
        defer { bytes = [] }
        return start == 0 && bytes.last == 0x0A ? (bytes.dropLast(), bytes.count) : nil
      }
      guard readPiece() else { return nil }
    }
  }

  private func readPiece() -> Bool {
    let count = min(Self.piece, start)
    var piece = [UInt8](repeating: 0, count: count)
    guard unsafe pread(descriptor, &piece, count, off_t(start - count)) == count else {
      return false
    }
    start -= count
    bytes = piece + bytes
    return true
  }
}
