internal import KistCore
internal import KistWire
internal import NIOCore

/// A watch stream: the only output on its connection from then on; on its event loop only.
///
/// It takes the next line only when the socket has space. A client that does not read delays only
/// the source of its changes, whose queue is bounded.
@safe
final class Follower: @unchecked Sendable {
  private let next: NextLine
  private let lines: LineHandler
  private var saying: Task<Void, Never>?
  private var whenRoom: CheckedContinuation<Void, Never>?
  private var isCancelled = false
  /// Whether the stream has begun.
  private(set) var isUnderWay = false

  init(_ next: @escaping NextLine, on lines: LineHandler) {
    self.next = next
    self.lines = lines
  }

  /// Sends all lines of the stream, then ends it.
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

  /// Continues when the socket has space again.
  func goOn() {
    whenRoom?.resume()
    whenRoom = nil
  }

  /// Ends the stream, even if it has not begun.
  func cancel() {
    isCancelled = true
    saying?.cancel()
    goOn()
  }
}

extension LineHandler {
  /// Starts a watch stream after the reply to the current line, and answers no other line.
  func follow(_ next: @escaping NextLine) {
    let follower = Follower(next, on: self)
    if isGone { follower.cancel() }
    self.follower = follower
    // Lines that arrived together with this one are not answered.
    events.removeAll()
    unanswered = 1
    isOver = true
  }

  /// Whether a watch stream is sending lines.
  var isFollowing: Bool { follower?.isUnderWay ?? false }

  /// Ends the watch stream; closes the connection if the stream has begun.
  func stopFollowing() {
    follower?.cancel()
    if isFollowing { context?.channel.close(promise: nil) }
  }

  /// Begins the watch stream after the last answer, or ends the handler if there is no stream.
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
