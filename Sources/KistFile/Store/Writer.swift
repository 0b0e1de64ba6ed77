internal import Dispatch
internal import KistCore
private import Synchronization

/// Carries out all queued changes in one transaction, so that they share one flush.
final class Writer: Sendable {
  /// A requested change, whatever the type of its answer.
  struct Queued: Sendable {
    fileprivate let session: Session
    let carryOut: @Sendable (inout Transaction) throws(StorageError) -> Answered
    fileprivate let fail: @Sendable (StorageError) -> Void
  }

  /// What to do once a change is on disk.
  struct Answered {
    fileprivate let event: CredentialChange?
    fileprivate let answer: () -> Void
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
  func carryOut<Answer: Sendable>(
    _ change: @escaping Change<Answer>, in session: Session,
    _ answer: @escaping @Sendable (Result<Answer, StorageError>) -> Void
  ) {
    let queued = Queued(
      session: session,
      carryOut: { transaction throws(StorageError) in
        let result = try change(&transaction)
        return Answered(event: (try? result.get())?.event) { answer(result.map(\.answer)) }
      },
      fail: { answer(.failure($0)) })
    let mustBegin = state.withLock { state in
      state.queued.append(queued)
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
      do throws(StorageError) {
        let answers = try Batch(connections: connections, session: session, options: options)
          .carryOut(batch)
        // Before the answers, so that a client with an answer knows that the change was reported.
        if watchers.areThere { watchers.tell(answers.compactMap(\.event)) }
        for answered in answers { answered.answer() }
      } catch {
        if error.outcome == .unknown { watchers.tell([.reset]) }
        for queued in batch { queued.fail(error) }
      }
    }
  }
}
