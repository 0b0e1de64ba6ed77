internal import KistCore
internal import KistWire
internal import NIOCore

/// A watch stream, which becomes the only output of its connection; used only on its event loop.
///
/// It takes the next line only when the socket has space. A client that does not read delays only
/// the source of its changes, whose queue is bounded.
@safe
final class WatchStream: @unchecked Sendable {
  private let next: NextLine
  private let lines: LineHandler
  private var sending: Task<Void, Never>?
  private var whenWritable: CheckedContinuation<Void, Never>?
  private var isCancelled = false
  private(set) var isUnderWay = false

  init(_ next: @escaping NextLine, on lines: LineHandler) {
    self.next = next
    self.lines = lines
  }

  func begin() {
    isUnderWay = true
    sending = Task.immediate(executorPreference: lines.executor) {
      do throws(StorageError) {
        while !isCancelled, let line = try await next() {
          lines.send(line)
          while !lines.hasRoom, !isCancelled {
            await withCheckedContinuation { whenWritable = $0 }
          }
        }
      } catch { lines.send(.refusal(error)) }
      lines.endStream()
    }
    if isCancelled { sending?.cancel() }
  }

  func goOn() {
    whenWritable?.resume()
    whenWritable = nil
  }

  func cancel() {
    isCancelled = true
    sending?.cancel()
    goOn()
  }
}

extension LineHandler {
  /// Starts a watch stream after the reply to the current line, and answers no other line.
  func beginStream(_ next: @escaping NextLine) {
    let stream = WatchStream(next, on: self)
    if isGone { stream.cancel() }
    self.stream = stream
    // Lines that arrived together with this one are not answered.
    events.removeAll()
    unanswered = 1
    isOver = true
  }

  var isStreaming: Bool { stream?.isUnderWay ?? false }

  /// Ends the watch stream; closes the connection if the stream has begun.
  func cancelStream() {
    stream?.cancel()
    if isStreaming { context?.channel.close(promise: nil) }
  }

  /// Begins the watch stream after the last answer, or ends the handler if there is no stream.
  func finish() {
    if let stream {
      isAnswering = true
      stream.begin()
    } else {
      whenDone?.resume()
      whenDone = nil
    }
  }

  fileprivate func send(_ line: Line) {
    guard context != nil else { return }
    outgoing.append(line)
    flush()
  }

  fileprivate func endStream() {
    stream = nil
    isAnswering = false
    forget()
    answerAll()
  }
}
