internal import Glibc
internal import KistCore
internal import KistSystem

/// The lines of a file from its end to its beginning, read piece by piece.
final class BackwardLines {
  /// A line without its newline, and the end of its newline.
  ///
  /// The line is `nil` if it is too long, or is part of a line that is too long.
  typealias Element = (line: [UInt8]?, end: Int)

  /// The number of bytes of a piece.
  private static let piece = 64 << 10
  /// The maximum length of a line in bytes; kistd writes no longer ones.
  static let longestLine = 16 << 10
  /// The number of bytes of a line that are skipped at once.
  private static let longestPart = 16 << 20

  /// The number that distinguishes the file from others that exist at the same time.
  let number: UInt64
  private let descriptor: CInt
  /// The bytes that were read but not yet returned, and their position in the file.
  private var bytes: [UInt8] = []
  private var start: Int

  /// Opens a file; `nil` if there is none.
  init?(_ path: String, hint: String) throws(StorageError) {
    guard let descriptor = try openIfPresent(path, hint: hint) else { return nil }
    self.descriptor = descriptor
    let status = fileStatus(of: descriptor) ?? stat()
    number = UInt64(status.st_ino)
    start = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// The end of the next line.
  var position: Int { start + bytes.count }

  /// Continues at the end of a line that was returned earlier.
  func `continue`(from end: Int) { start = min(start, end) }

  /// Returns the previous line; text without a newline at its end does not count.
  func next() -> Element? {
    while true {
      let end = start + bytes.count
      let isEnded = bytes.last == 0x0A
      if let newline = bytes.dropLast(isEnded ? 1 : 0).lastIndex(of: 0x0A) {
        let line = bytes[(newline + 1)...]
        let element: Element = (
          line.count > Self.longestLine ? nil : Array(line.dropLast()), end
        )
        bytes.removeSubrange((newline + 1)...)
        if isEnded { return element }
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
    let end = start + bytes.count
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
    let count = min(Self.piece, start)
    let piece = KistSystem.bytes(of: descriptor, start - count..<start)
    guard piece.count == count else { return false }
    start -= count
    bytes = piece + bytes
    return true
  }
}
