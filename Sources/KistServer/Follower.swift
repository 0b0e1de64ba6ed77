internal import KistCore
internal import KistWire
internal import NIOCore

/// Says line after line on a connection on which nothing else is said any more; on its event loop only.
///
/// A line is taken when there is room for it: a client that does not read holds up nobody but who tells of
/// changes, who has a bound.
@safe
final class Follower: @unchecked Sendable {
  private let next: NextLine
  private let lines: LineHandler
  private var saying: Task<Void, Never>?
  private var whenRoom: CheckedContinuation<Void, Never>?
  private var isCancelled = false
  /// Whether it has begun.
  private(set) var isUnderWay = false

  init(_ next: @escaping NextLine, on lines: LineHandler) {
    self.next = next
    self.lines = lines
  }

  /// Says what there is to say; tells the handler when that was all.
  func begin() {
    isUnderWay = true
    saying = Task.immediate(executorPreference: lines.executor) {
      do throws(StorageError) {
        while !isCancelled, let line = try await next() {
          lines.say(line)
          while !lines.hasRoom, !isCancelled {
            await withCheckedContinuation { whenRoom = $0 }
          }
        }
      } catch { lines.say(.refusal(error)) }
      lines.endFollowing()
    }
    if isCancelled { saying?.cancel() }
  }

  /// Goes on where there was no room.
  func goOn() {
    whenRoom?.resume()
    whenRoom = nil
  }

  /// Ends it, also before it has begun.
  func cancel() {
    isCancelled = true
    saying?.cancel()
    goOn()
  }
}

extension LineHandler {
  /// Has lines follow the reply to the line that is being answered, and answers no other.
  func follow(_ next: @escaping NextLine) {
    let follower = Follower(next, on: self)
    if isGone { follower.cancel() }
    self.follower = follower
    // What came with it is not answered.
    events.removeAll()
    unanswered = 1
    isOver = true
  }

  /// Whether lines follow that nobody asks for one by one.
  var isFollowing: Bool { follower?.isUnderWay ?? false }

  /// Ends what follows, with the connection where that is all it serves.
  func stopFollowing() {
    follower?.cancel()
    if isFollowing { context?.channel.close(promise: nil) }
  }

  /// Has what follows begin when all is answered, and ends the handler where nothing does.
  func finish() {
    if let follower {
      isAnswering = true
      follower.begin()
    } else {
      whenDone?.resume()
      whenDone = nil
    }
  }

  fileprivate func say(_ line: Line) {
    guard context != nil else { return }
    outgoing.append(line)
    flush()
  }

  fileprivate func endFollowing() {
    follower = nil
    isAnswering = false
    forget()
    answerAll()
  }
}
