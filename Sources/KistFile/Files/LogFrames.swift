/// Determines which frames of a log SQLite reads (https://sqlite.org/fileformat2.html#walformat).
struct LogFrames {
  /// The size of the header of a log in bytes.
  static let headerSize = 32
  private static let frameHeaderSize = 24

  /// The size of a frame in bytes: its header and a page.
  let frameSize: Int
  private let isBigEndian: Bool
  private let salts: UInt64
  private var sum: (UInt32, UInt32) = (0, 0)

  /// Reads the header; `nil` when it is invalid.
  init?(header: Span<UInt8>) {
    let magic: UInt32 = Self.bigEndian(header, at: 0)
    let pageSize = Int(Self.bigEndian(header, at: 8) as UInt32)
    // By default, SQLite chooses pages of at most 8 KiB.
    guard
      magic & ~1 == 0x377F_0682, Self.bigEndian(header, at: 4) == 3_007_000 as UInt32,
      (512...8192).contains(pageSize), pageSize.nonzeroBitCount == 1
    else { return nil }
    frameSize = Self.frameHeaderSize + pageSize
    isBigEndian = magic & 1 == 1
    salts = Self.bigEndian(header, at: 16)
    add(header, 0..<24)
    guard sumIs(at: 24, of: header) else { return nil }
  }

  /// Returns whether the next frame is valid; frames after an invalid one do not count.
  mutating func accept(_ frame: Span<UInt8>) -> Bool {
    guard
      Self.bigEndian(frame, at: 0) != 0 as UInt32, Self.bigEndian(frame, at: 8) == salts
    else { return false }
    add(frame, 0..<8)
    add(frame, Self.frameHeaderSize..<frame.count)
    return sumIs(at: 16, of: frame)
  }

  private func sumIs(at offset: Int, of bytes: Span<UInt8>) -> Bool {
    Self.bigEndian(bytes, at: offset) == sum.0
      && Self.bigEndian(bytes, at: offset + 4) == sum.1
  }

  private mutating func add(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
      let first: UInt32 = Self.bigEndian(bytes, at: offset)
      let second: UInt32 = Self.bigEndian(bytes, at: offset + 4)
      sum.0 = sum.0 &+ (isBigEndian ? first : first.byteSwapped) &+ sum.1
      sum.1 = sum.1 &+ (isBigEndian ? second : second.byteSwapped) &+ sum.0
    }
  }

  private static func bigEndian<Integer: FixedWidthInteger & BitwiseCopyable>(
    _ bytes: Span<UInt8>, at offset: Int
  ) -> Integer {
    Integer(
      bigEndian: unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Integer.self))
  }
}
