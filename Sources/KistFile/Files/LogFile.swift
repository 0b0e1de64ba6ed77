internal import Glibc
internal import KistCore
internal import KistVault

/// Rewrites the valid part of a store's log with the same bytes, and waits until it is on disk.
///
/// After a failed flush, the system may keep data in memory and count it as flushed. The log is
/// then read with this data, but a power cut would lose it with all that was written after it. This
/// cannot be detected, but data that is written again is also flushed again.
///
/// SQLite ignores a log with an invalid header, and everything from the first invalid frame. That
/// part is not rewritten, so that a large sparse file does not fill the disk.
func rewriteLog(of path: String) throws(StorageError) {
  let log = path + "-wal"
  guard try isFilled(log) else { return }
  let descriptor = try Descriptor.open(log, O_RDWR)
  guard try descriptor.copyFrames(to: descriptor, path: log) else { return }
  try descriptor.flush(path: log)
  try flushDirectory(of: log)
}

extension Descriptor {
  /// Writes a removed log again, from its open file, and waits until it is on disk.
  ///
  /// Part of a log could be older than the database, so the log gets its name when it is complete. If a
  /// crash leaves the unfinished log, the next start removes it.
  func restoreLog(of path: String) throws(StorageError) {
    let unfinished = path + ".new-wal"
    let copy = try Descriptor.open(unfinished, O_RDWR | O_CREAT | O_EXCL)
    var isRenamed = false
    defer { if !isRenamed { unsafe unlink(unfinished) } }
    try copy.setMode(0o600, path: unfinished)
    // Without a header, the database has all changes.
    guard try copyFrames(to: copy, path: unfinished) else { return }
    try copy.flush(path: unfinished)
    try rename(unfinished, to: path + "-wal")
    isRenamed = true
  }

  /// Throws if this file of a database was put beside the log of another file.
  ///
  /// SQLite would add the changes in that log to this file. A file is newer than its own log only after
  /// a merge, which copies pages of the log into it.
  func checkLog(of path: String) throws(StorageError) {
    guard try isFilled(path + "-wal") else { return }
    let log = try Descriptor.open(path + "-wal", O_RDONLY)
    guard
      try log.status(path: path).modified < status(path: path).modified,
      try log.isLogWithoutPage(of: self, path: path)
    else { return }
    throw .logOfAnotherFile(path)
  }

  /// Returns whether this log has valid frames, and the database has none of their pages.
  private func isLogWithoutPage(
    of database: borrowing Descriptor, path: String
  ) throws(StorageError) -> Bool {
    var frames = 0
    var isShared = false
    _ = try readFrames(path: path) { frame, offset throws(StorageError) in
      guard offset > 0 else { return true }
      frames += 1
      let page = frame[LogFrames.frameHeaderSize...]
      let number = Int(frame.span.bigEndian(at: 0) as UInt32)
      isShared = try database.bytes(
        upTo: page.count, at: (number - 1) * page.count, path: path
      ).elementsEqual(page)
      return !isShared
    }
    return frames > 0 && !isShared
  }

  /// Copies the header and all valid frames; returns `false` when the header is invalid.
  fileprivate func copyFrames(
    to other: borrowing Descriptor, path: String
  ) throws(StorageError) -> Bool {
    try readFrames(path: path) { bytes, offset throws(StorageError) in
      try other.write(bytes.span, at: offset, path: path)
      return true
    }
  }

  /// Calls the body with the header and each valid frame, with their offsets, until it returns `false`.
  ///
  /// Returns `false` when the header is invalid.
  private func readFrames(
    path: String, _ body: ([UInt8], _ offset: Int) throws(StorageError) -> Bool
  ) throws(StorageError) -> Bool {
    var part = try bytes(upTo: LogFrames.headerSize, at: 0, path: path)
    guard part.count == LogFrames.headerSize, var frames = LogFrames(header: part.span) else {
      return false
    }
    var offset = 0
    while try body(part, offset) {
      offset += part.count
      part = try bytes(upTo: frames.frameSize, at: offset, path: path)
      guard part.count == frames.frameSize, frames.accept(part.span) else { break }
    }
    return true
  }
}

/// Determines which frames of a log SQLite reads (https://sqlite.org/fileformat2.html#walformat).
struct LogFrames {
  /// The size of the header of a log in bytes.
  static let headerSize = 32
  /// The size of the header of a frame in bytes; its page follows.
  static let frameHeaderSize = 24

  /// Returns the size of a log with this number of frames in bytes.
  static func size(of frames: Int, pageSize: Int) -> Int {
    headerSize + frames * (frameHeaderSize + pageSize)
  }

  /// The size of a frame in bytes: its header and a page.
  let frameSize: Int
  private let isBigEndian: Bool
  private let salts: UInt64
  private var sum: (UInt32, UInt32) = (0, 0)

  /// Reads the header; `nil` when it is invalid.
  init?(header: Span<UInt8>) {
    let magic: UInt32 = header.bigEndian(at: 0)
    let pageSize = Int(header.bigEndian(at: 8) as UInt32)
    // By default, SQLite chooses pages of at most 8 KiB.
    guard
      magic & ~1 == 0x377F_0682, header.bigEndian(at: 4) == 3_007_000 as UInt32,
      (512...8192).contains(pageSize), pageSize.nonzeroBitCount == 1
    else { return nil }
    frameSize = Self.frameHeaderSize + pageSize
    isBigEndian = magic & 1 == 1
    salts = header.bigEndian(at: 16)
    add(header, 0..<24)
    guard sumIs(at: 24, of: header) else { return nil }
  }

  /// Returns whether the next frame is valid; frames after an invalid one do not count.
  mutating func accept(_ frame: Span<UInt8>) -> Bool {
    guard
      frame.bigEndian(at: 0) != 0 as UInt32, frame.bigEndian(at: 8) == salts
    else { return false }
    add(frame, 0..<8)
    add(frame, Self.frameHeaderSize..<frame.count)
    return sumIs(at: 16, of: frame)
  }

  private func sumIs(at offset: Int, of bytes: Span<UInt8>) -> Bool {
    bytes.bigEndian(at: offset) == sum.0
      && bytes.bigEndian(at: offset + 4) == sum.1
  }

  private mutating func add(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
      let first: UInt32 = bytes.bigEndian(at: offset)
      let second: UInt32 = bytes.bigEndian(at: offset + 4)
      sum.0 = sum.0 &+ (isBigEndian ? first : first.byteSwapped) &+ sum.1
      sum.1 = sum.1 &+ (isBigEndian ? second : second.byteSwapped) &+ sum.0
    }
  }
}

extension Span<UInt8> {
  /// Returns the integer at an offset.
  func bigEndian<Integer: FixedWidthInteger & BitwiseCopyable>(at offset: Int) -> Integer {
    Integer(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Integer.self))
  }
}

extension stat {
  /// The time of the last change of the content: seconds and nanoseconds.
  fileprivate var modified: (Int, Int) { (st_mtim.tv_sec, st_mtim.tv_nsec) }
}
