internal import KistCore
internal import KistWire
internal import NIOCore

/// Sends the lines of a watch on its connection.
///
/// All its code runs on the event loop of the connection. It takes the next line only when the
/// socket has space. If a client does not read, its changes wait in a queue of limited size.
@safe
final class WatchStream: @unchecked Sendable {
  private let next: NextLine
  private let handler: LineHandler
  private var sending: Task<Void, Never>?
  private var whenWritable: CheckedContinuation<Void, Never>?
  private var isCancelled = false
  private(set) var hasBegun = false

  init(_ next: @escaping NextLine, on handler: LineHandler) {
    self.next = next
    self.handler = handler
  }

  func begin() {
    hasBegun = true
    sending = Task.immediate(executorPreference: handler.executor) {
      do throws(StorageError) {
        while !isCancelled, let line = try await next() {
          handler.send(line)
          while !handler.canWriteMore, !isCancelled {
            await withCheckedContinuation { whenWritable = $0 }
          }
        }
      } catch { handler.send(.refusal(error)) }
      handler.endStream()
    }
    if isCancelled { sending?.cancel() }
  }

  func resumeSending() {
    whenWritable?.resume()
    whenWritable = nil
  }

  func cancel() {
    isCancelled = true
    sending?.cancel()
    resumeSending()
  }
}

extension LineHandler {
  /// Registers a watch stream, which begins after the reply to the current line.
  ///
  /// No further line is answered.
  func registerStream(_ next: @escaping NextLine) {
    let stream = WatchStream(next, on: self)
    if isDisconnected { stream.cancel() }
    self.stream = stream
    // Drops the lines that arrived after the current one.
    dropWaitingLines()
    unansweredCount = 1
    inputHasEnded = true
  }

  var isStreaming: Bool { stream?.hasBegun ?? false }

  /// Ends the watch stream.
  ///
  /// If the stream has begun, closes the connection.
  func cancelStream() {
    stream?.cancel()
    if isStreaming { context?.channel.close(promise: nil) }
  }

  /// Begins the watch stream after the last reply.
  ///
  /// Completes `run` if no watch stream exists.
  func beginStreamOrComplete() {
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
    dropWaitingLines()
    answerAll()
  }
}
