package import KistCore
internal import KistJSON

/// One line of the protocol without its newline; a secret, because it may contain one.
package struct Line: Sendable, Equatable {
  package let content: Secret

  package init(_ content: Secret) { self.content = content }

  /// Whether the operation only reads: it does not change, lock or unlock anything.
  package var onlyAsks: Bool {
    (try? JSONObject(content)["op"]?.string()).map(OperationRow.isRead) ?? false
  }
}

/// Answers one line with one line: a whole server, or a connection to one.
package typealias LineExchange = @Sendable (Line) async throws(StorageError) -> Line

/// Waits for the next of several lines; returns `nil` if the task is cancelled.
package typealias NextLine = @Sendable () async throws(StorageError) -> Line?

/// Splits a stream of bytes into lines; holds at most one unfinished line of limited length.
///
/// A connection uses one splitter to its end, so that no pipelined or partial line is lost.
package struct LineSplitter: ~Copyable {
  /// A part of a stream of bytes.
  package enum Event: Sendable, Equatable {
    /// A line without its newline. Blank lines are skipped.
    case line(Line)
    /// The line that begins here exceeds the limit. Everything after it is ignored.
    case tooLong
    /// The stream ended within a line.
    case unfinished
  }

  private let limit: Int
  private var partial = emptyLine()
  private var isSpent = false

  package init(limit: Int = Limits.line) { self.limit = limit }

  /// Takes the next bytes of the stream and reports the events that they complete.
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

  /// Reports bytes after the last newline, at the end of the stream.
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

  /// Returns a buffer that is large enough for nearly every request.
  private static func emptyLine() -> WipedBytes { WipedBytes(capacity: 256) }

  private mutating func consumePartial() -> Secret {
    var line = Self.emptyLine()
    swap(&line, &partial)
    return Secret(line)
  }
}

extension Secret {
  /// Whether there is only JSON white space.
  fileprivate var isBlank: Bool {
    withBytes { bytes in bytes.indices.allSatisfy { [0x20, 0x09, 0x0D].contains(bytes[$0]) } }
  }
}
