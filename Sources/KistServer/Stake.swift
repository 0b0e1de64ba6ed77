internal import NIOCore

/// What a client would lose if its connection were closed now; who loses least makes room first.
enum Stake: Comparable {
  /// Nothing: it has asked for nothing yet.
  case nothing(since: Turn)
  /// Replies that it has had the time to read.
  case neglectedReplies(since: NIODeadline)
  /// Its place: it has all its replies, and can connect again when it has the next request.
  case place(since: Turn)
  /// The changes that it would be told at once; it can watch again, and read everything anew.
  case watch(since: Turn)
  /// Replies that it may be reading.
  case replies(since: NIODeadline)
}

/// The place of something in the order in which things happened on an event loop.
typealias Turn = UInt

/// Gives turns, as a clock would, for less; on one event loop only.
@safe
final class Turns: @unchecked Sendable {
  private var latest: Turn = 0

  func next() -> Turn {
    latest += 1
    return latest
  }
}

extension LineHandler {
  /// How long replies that the client does not read are a reason to keep its place.
  private static let patience = TimeAmount.seconds(10)

  /// What the client would lose if the channel were closed now; `nil` while that is the answer to a
  /// line.
  ///
  /// On the channel's event loop only.
  func stake(at now: NIODeadline = .now()) -> Stake? {
    if isAnswering, !isFollowing { return nil }
    if hasUnreadReplies {
      return unwrittenSince + Self.patience <= now
        ? .neglectedReplies(since: unwrittenSince) : .replies(since: unwrittenSince)
    }
    if isFollowing { return .watch(since: answered ?? connected) }
    // Where there is room for replies, whatever came is about to be answered.
    if unanswered > 0 { return nil }
    return answered.map { .place(since: $0) } ?? .nothing(since: connected)
  }

  /// Whether the socket has no room for the last of its replies.
  var hasUnreadReplies: Bool { unwritten > 0 }
}
