internal import KistCore

/// Cuts a stream of bytes into lines, holding at most one unfinished line of bounded length.
///
/// One splitter serves one connection for as long as it lasts, so that pipelined lines and lines
/// that arrive in pieces are never lost.
package struct LineSplitter: ~Copyable {
  /// What a stream of bytes holds.
  package enum Event: Sendable, Equatable {
    /// A line, its newline taken away. Blank lines are skipped.
    case line(Line)
    /// The line that begins here exceeds the limit; nothing after it is looked at.
    case tooLong
    /// The stream ended within a line.
    case unfinished
  }

  private let limit: Int
  private var partial = emptyLine()
  private var isSpent = false

  package init(limit: Int = Limits.line) { self.limit = limit }

  /// Takes the next bytes of the stream and tells what is complete with them.
  package mutating func append(_ bytes: Span<UInt8>, _ emit: (Event) -> Void) {
    var start = 0
    while !isSpent, let newline = bytes.firstOffset(of: UInt8(ascii: "\n"), from: start) {
      take(bytes.extracting(start..<newline))
      start = newline + 1
      if isSpent { return emit(.tooLong) }
      let line = consumePartial()
      if !line.isBlank { emit(.line(Line(line))) }
    }
    if isSpent { return }
    take(bytes.extracting(start...))
    if isSpent { emit(.tooLong) }
  }

  /// Tells of bytes after the last newline, at the end of the stream.
  package mutating func finish() -> Event? {
    guard !isSpent else { return nil }
    isSpent = true
    let rest = consumePartial()
    return rest.isBlank ? nil : .unfinished
  }

  private mutating func take(_ piece: Span<UInt8>) {
    if partial.count + piece.count > limit {
      isSpent = true
      partial = Self.emptyLine()
    } else {
      partial.append(piece)
    }
  }

  /// With room for nearly every request.
  private static func emptyLine() -> WipedBytes { WipedBytes(capacity: 256) }

  private mutating func consumePartial() -> Secret {
    var line = Self.emptyLine()
    swap(&line, &partial)
    return Secret(line)
  }
}

extension Secret {
  /// Whether there is nothing but JSON's white space.
  fileprivate var isBlank: Bool {
    withBytes { bytes in
      bytes.indices.allSatisfy { [0x20, 0x09, 0x0D].contains(bytes[$0]) }
    }
  }
}
