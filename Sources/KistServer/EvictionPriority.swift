internal import NIOCore

/// The eviction priority of a connection: what its client would lose, least first.
enum EvictionPriority: Comparable {
  /// Nothing: the client has sent no request yet.
  case nothing(since: Turn)
  /// Replies that the client has had time to read.
  case neglectedReplies(since: NIODeadline)
  /// Its place: it has all its replies, and can reconnect for its next request.
  case place(since: Turn)
  /// A watch: the client can watch again, and must read everything again.
  case watch(since: Turn)
  /// Replies that the client may be reading.
  case replies(since: NIODeadline)
}

/// The position of an event in the order of events on an event loop.
typealias Turn = UInt

/// A counter that orders events on one event loop; cheaper than a clock.
@safe
final class Turns: @unchecked Sendable {
  private var latest: Turn = 0

  func next() -> Turn {
    latest += 1
    return latest
  }
}

extension LineHandler {
  /// How long unread replies protect a connection from eviction.
  private static let patience = TimeAmount.seconds(10)

  /// Returns the eviction priority; `nil` while a line is being answered.
  ///
  /// Call it on the channel's event loop only.
  func evictionPriority(at now: NIODeadline = .now()) -> EvictionPriority? {
    if isAnswering, !isStreaming { return nil }
    if hasUnreadReplies {
      return unwrittenSince + Self.patience <= now
        ? .neglectedReplies(since: unwrittenSince) : .replies(since: unwrittenSince)
    }
    if isStreaming { return .watch(since: answered ?? connected) }
    // While there is space for replies, every received line is about to be answered.
    if unanswered > 0 { return nil }
    return answered.map { .place(since: $0) } ?? .nothing(since: connected)
  }

  /// Whether the socket has no space for the last of the replies.
  var hasUnreadReplies: Bool { unwritten > 0 }
}
