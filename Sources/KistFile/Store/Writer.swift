internal import Dispatch
internal import KistCore
private import Synchronization

/// Carries out all queued changes in one transaction, so that they share one flush.
final class Writer: Sendable {
  /// A requested change and the function that receives its answer.
  private struct Queued {
    let change: Change
    let session: Session
    let answer: @Sendable (Change.Answer) -> Void
  }

  private struct State {
    var queued: [Queued] = []
    var isWorking = false
  }

  private let connections: Connections
  private let options: EncryptedFile.Options
  private let watchers: Watchers
  private let queue = DispatchQueue(label: "kist.writer")
  private let state = Mutex(State())

  init(connections: Connections, options: EncryptedFile.Options, watchers: Watchers) {
    self.connections = connections
    self.options = options
    self.watchers = watchers
  }

  /// Carries out a change and answers when it is on disk.
  func carryOut(
    _ change: Change, in session: Session, _ answer: @escaping @Sendable (Change.Answer) -> Void
  ) {
    let mustBegin = state.withLock { state in
      state.queued.append(Queued(change: change, session: session, answer: answer))
      defer { state.isWorking = true }
      return !state.isWorking
    }
    if mustBegin { queue.async { self.work() } }
  }

  /// Waits until all changes queued so far are answered.
  func finish() async {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume() }
    }
  }

  private func work() {
    while true {
      let batch = state.withLock { state in
        defer { state.queued = [] }
        state.isWorking = !state.queued.isEmpty
        return state.queued
      }
      guard let session = batch.first?.session else { return }
      let answers = Batch(connections: connections, session: session, options: options)
        .carryOut(batch.map(\.change))
      if watchers.areThere {
        // Before the answers, so that a client with an answer knows that the change was reported.
        watchers.tell(zip(batch, answers).compactMap { told(of: $0.change, $1, in: session) })
      }
      for (queued, answer) in zip(batch, answers) { queued.answer(answer) }
    }
  }
}
