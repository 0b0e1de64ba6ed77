package import KistCore
internal import KistJSON

/// One line of the protocol without its newline.
///
/// It is a `Secret`, because it may contain a secret.
package struct Line: Sendable, Equatable {
  package let content: Secret

  package init(_ content: Secret) { self.content = content }

  /// Whether kistd may drop the request if its client has disconnected.
  ///
  /// This is so if the operation changes no stored data, and does not lock or unlock the storage.
  package var servesOnlyItsClient: Bool {
    let operation = try? JSONObject(content)["op"]?.string()
    switch operation.flatMap(OperationRow.effect) {
    case .some(.none), .backup: return true
    case .access, .change, nil: return false
    }
  }
}

/// A function that sends a request line and returns the reply line.
package typealias LineExchange = @Sendable (Line) async throws(StorageError) -> Line

/// Waits for the next line of a watch stream; returns `nil` if the task is cancelled.
package typealias NextLine = @Sendable () async throws(StorageError) -> Line?

/// Splits a stream of bytes into lines.
///
/// It holds at most one unfinished line of limited length. A connection uses the same splitter
/// until it ends, because bytes of the next line may already have arrived.
package struct LineSplitter: ~Copyable {
  /// A part of the stream.
  package enum Event: Sendable, Equatable {
    /// A line without its newline. Blank lines are skipped.
    case line(Line)
    /// The line that begins here exceeds the limit. Everything after it is ignored.
    case tooLong
    /// The stream ended within a line.
    case unfinished
  }

  /// The maximum number of bytes of a line.
  package let limit: Int
  private var partial = emptyLine()
  private var hasEnded = false

  package init(limit: Int = Limits.line) { self.limit = limit }

  /// Takes the next bytes of the stream, and calls `emit` for each event that they complete.
  package mutating func append(_ bytes: Span<UInt8>, _ emit: (Event) -> Void) {
    var start = 0
    while !hasEnded, let newline = bytes.firstOffset(of: UInt8(ascii: "\n"), from: start) {
      take(bytes.extracting(start..<newline))
      start = newline + 1
      if hasEnded { return emit(.tooLong) }
      let line = consumePartial()
      if !line.isBlank { emit(.line(Line(line))) }
    }
    if hasEnded { return }
    take(bytes.extracting(start...))
    if hasEnded { emit(.tooLong) }
  }

  /// Ends the stream; returns `unfinished` if there are bytes after the last newline.
  package mutating func finish() -> Event? {
    guard !hasEnded else { return nil }
    hasEnded = true
    let rest = consumePartial()
    return rest.isBlank ? nil : .unfinished
  }

  private mutating func take(_ piece: Span<UInt8>) {
    if partial.count + piece.count > limit {
      hasEnded = true
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
  /// Whether this is only JSON white space.
  fileprivate var isBlank: Bool {
    withBytes { bytes in bytes.indices.allSatisfy { [0x20, 0x09, 0x0D].contains(bytes[$0]) } }
  }
}
