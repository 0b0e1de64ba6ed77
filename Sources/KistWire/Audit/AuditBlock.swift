/// Lines of the audit log that are written together.
///
/// The chain is a keyed hash of all lines of the log (docs/audit.md, "The chain"). When the block is
/// written, its last line gets the members of an `AuditLink`, and this hash.
package struct AuditBlock: Sendable {
  /// The lines, each with its newline.
  package private(set) var text: [UInt8] = []
  /// The number of lines.
  package private(set) var count = 0
  private var lastLine = 0
  private var parts: [UInt8] = []
  private var partsBeforeLast = 0

  package init() {}

  /// For each line of this block except the last: the part that the chain authenticates.
  package var partsBeforeLastLine: ArraySlice<UInt8> { parts[..<partsBeforeLast] }
  /// The last line, without its closing brace and newline.
  package var openLastLine: ArraySlice<UInt8> { text[lastLine..<max(lastLine, text.count - 2)] }

  mutating func reserveCapacity(_ capacity: Int) { text.reserveCapacity(capacity) }

  mutating func removeAll() {
    text.removeAll(keepingCapacity: true)
    parts.removeAll(keepingCapacity: true)
    (count, lastLine, partsBeforeLast) = (0, 0, 0)
  }

  /// Appends a line that ends with a newline.
  ///
  /// `sealed` contains the sealed names of the line; it is empty if the line has none.
  package mutating func append(_ line: Span<UInt8>, sealed: Span<UInt8>) {
    lastLine = text.count
    partsBeforeLast = parts.count
    count += 1
    add(line, to: &text)
    Self.append(line, sealed: sealed, to: &parts)
  }

  /// Replaces the brace and newline at the end of the last line with the members of a link.
  package mutating func endLastLine(with members: [UInt8]) {
    text.removeLast(2)
    text += members
  }

  /// Appends what the chain authenticates of a line that is not the last line of its block.
  ///
  /// Of a line with names, the chain authenticates only the last 16 bytes of the sealed names. These
  /// 16 bytes already authenticate the names and the text before the names. To cover more would take
  /// more time.
  package static func append(
    _ line: Span<UInt8>, sealed: Span<UInt8>, to parts: inout [UInt8]
  ) {
    let hasNames = sealed.count >= sealTagSize
    parts.append(hasNames ? 1 : 0)
    add(hasNames ? sealed.extracting(last: sealTagSize) : line, to: &parts)
  }

  private static let sealTagSize = 16
}

private func add(_ bytes: Span<UInt8>, to array: inout [UInt8]) {
  unsafe bytes.withUnsafeBufferPointer { unsafe array.append(contentsOf: $0) }
}
