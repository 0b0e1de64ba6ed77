internal import Dispatch
internal import KistCore
internal import KistSodium
private import Synchronization

/// The backup that was begun last, until it is read or no longer requested.
///
/// Backups are made one at a time.
final class LatestBackup: Sendable {
  /// Called with the number of copied credentials and the total; throws when copying must stop.
  typealias Report = (_ done: Int, _ of: Int) throws(StorageError) -> Void

  private enum Outcome { case beingMade, givenUp, made(MadeBackup), failed(StorageError) }

  private struct State {
    /// The identifier of the backup.
    var id = ""
    var outcome = Outcome.failed(.noBackup)
    var copied = (done: 0, of: 0)
    /// When a client last asked for the backup.
    var lastAsked = ContinuousClock.now
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var tickets = 0

    var isBeingMade: Bool { if case .beingMade = outcome { true } else { false } }

    /// Whether it is still being written, even if only until the next credential.
    var isUnderWay: Bool { if case .givenUp = outcome { true } else { isBeingMade } }
  }

  /// The queue on which backups are made.
  let queue = DispatchQueue(label: "kist.backups")
  private let readings = DispatchQueue(label: "kist.backups.readings")
  private let deadlines = DispatchQueue(label: "kist.backups.deadlines")
  private let pace: BackupPace
  private let state = Mutex(State())

  init(_ pace: BackupPace) { self.pace = pace }

  /// Begins a backup that replaces the previous one, and waits for it.
  ///
  /// Throws `busy` while another backup is being made.
  func make(
    _ unfinished: UnfinishedStore,
    _ write: @escaping @Sendable (Report) throws(StorageError) -> Int
  ) async throws(StorageError) -> BackupProgress {
    let id = hexadecimal(randomBytes(16))
    try state.withLock { state throws(StorageError) in
      if state.isUnderWay {
        throw StorageError(.busy, "another backup is being made", hint: "try again in a while")
      }
      state = State(id: id, outcome: .beingMade)
    }
    queue.async { [self] in
      finish(
        Result { () throws(StorageError) in
          defer { unfinished.discard() }
          return try MadeBackup(unfinished, id: id, count: try write(note))
        })
    }
    let first = try await progress(of: id)
    giveUpUnlessAsked(id, after: pace.patience)
    return first
  }

  /// Waits for a running backup and returns its progress.
  func progress(of id: String) async throws(StorageError) -> BackupProgress {
    await waitForEnd(of: id)
    return try ask(id) { state throws(StorageError) in
      switch state.outcome {
      case .beingMade: .copied(state.copied.done, of: state.copied.of, id: id)
      case .made(let made): .made(made.backup)
      case .givenUp: throw .noBackup
      case .failed(let error): throw error
      }
    }
  }

  /// Reads a part; after the last part, the backup is discarded.
  func read(_ part: BackupPart) async throws(StorageError) -> Secret {
    let made = try ask(part.id) { state throws(StorageError) in
      switch state.outcome {
      case .beingMade:
        throw StorageError(
          .busy, "the backup is being made", hint: "ask with `backup` how far it is")
      case .made(let made): made
      case .givenUp: throw .noBackup
      case .failed(let error): throw error
      }
    }
    let bytes = try await readings.run { () throws(StorageError) in
      try made.read(from: part.offset)
    }
    if part.offset + bytes.count == made.backup.size { discard(part.id) }
    return bytes
  }

  /// Discards the finished backup.
  func discard() { discard(state.withLock(\.id)) }

  private func discard(_ id: String) {
    state.withLock { state in
      if state.id == id, !state.isUnderWay { state.outcome = .failed(.noBackup) }
    }
  }

  private func ask<Answer>(
    _ id: String, _ answer: (State) throws(StorageError) -> Answer
  ) throws(StorageError) -> Answer {
    try state.withLock { state throws(StorageError) in
      guard state.id == id else { throw .noBackup }
      state.lastAsked = .now
      return try answer(state)
    }
  }

  private func note(_ done: Int, of all: Int) throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      guard state.isBeingMade else { throw .noBackup }
      state.copied = (done, all)
    }
  }

  private func finish(_ result: Result<MadeBackup, StorageError>) {
    let waiting = state.withLock { state in
      switch result {
      case .success(let made): state.outcome = .made(made)
      case .failure(let error): state.outcome = .failed(error)
      }
      defer { state.waiting = [:] }
      return state.waiting
    }
    for continuation in waiting.values { continuation.resume() }
  }

  // MARK: - Deadlines

  private func waitForEnd(of id: String) async {
    await withCheckedContinuation { continuation in
      let ticket = state.withLock { state -> Int? in
        guard state.id == id, state.isBeingMade else { return nil }
        state.tickets += 1
        state.waiting[state.tickets] = continuation
        return state.tickets
      }
      guard let ticket else { return continuation.resume() }
      after(pace.wait) { $0.endWait(ticket, for: id) }
    }
  }

  private func endWait(_ ticket: Int, for id: String) {
    let continuation = state.withLock { state in
      state.id == id ? state.waiting.removeValue(forKey: ticket) : nil
    }
    continuation?.resume()
  }

  /// Discards a backup that no client asks for: the client has ended or has stopped reading.
  private func giveUpUnlessAsked(_ id: String, after time: Duration) {
    after(time) { backups in
      let rest = backups.state.withLock { state -> Duration? in
        if case .failed = state.outcome { return nil }
        guard state.id == id else { return nil }
        let rest = state.lastAsked + backups.pace.patience - .now
        if !state.waiting.isEmpty || rest > .zero { return max(rest, backups.pace.wait) }
        state.outcome = state.isBeingMade ? .givenUp : .failed(.noBackup)
        return nil
      }
      if let rest { backups.giveUpUnlessAsked(id, after: rest) }
    }
  }

  private func after(_ time: Duration, _ body: @escaping @Sendable (LatestBackup) -> Void) {
    deadlines.asyncAfter(deadline: .after(time)) { [weak self] in
      if let self { body(self) }
    }
  }
}

extension StorageError {
  fileprivate static var noBackup: StorageError {
    StorageError(
      .unavailable,
      "the backup is there no more: nobody asked for it for a while, or another one was begun",
      hint: "make another one")
  }
}

/// The times for which backups are waited for and kept.
package struct BackupPace: Sendable {
  /// How long a request waits for a running backup.
  package var wait: Duration
  /// How long a backup continues or is kept without a request for it.
  package var patience: Duration

  package init(wait: Duration = .seconds(5), patience: Duration = .seconds(30)) {
    self.wait = wait
    self.patience = patience
  }
}
