internal import Dispatch
internal import Glibc
internal import KistCore
internal import KistSodium
internal import KistVault
private import Synchronization

extension FileStore {
  /// Makes a backup, or returns the progress of one that was begun.
  func backup(_ request: BackupRequest) async throws(StorageError) -> BackupProgress {
    switch request {
    case .begin(let passphrase, let allowsWeak):
      try await beginBackup(passphrase, allowsWeak: allowsWeak)
    case .poll(let id): try await backups.progress(of: id)
    }
  }

  /// Copies the store, as it is at one moment, into a file that only the passphrase opens.
  private func beginBackup(
    _ passphrase: Secret, allowsWeak: Bool
  ) async throws(StorageError) -> BackupProgress {
    let session = try session()
    try checkNewPassphrase(passphrase, allowsWeak: allowsWeak)
    var options = options
    options.allowsWeakPassphrase = allowsWeak
    try await session.check.settle(within: watch)
    let unfinished = UnfinishedStore(path: options.path + ".backup")
    return try await backups.make(unfinished) { [self, options] report throws(StorageError) in
      var count = 0
      try unfinished.write(
        options, id: randomBytes(StoreFormat.storeIDSize), openedBy: [.passphrase(passphrase)]
      ) { database, keys, header throws(StorageError) in
        try connections.snapshot { original throws(StorageError) in
          let all = Int(clamping: try original.header(session.keys).count)
          let numbers = try RowNumbers(original)
          try original.eachCredential(session.keys) { row throws(StorageError) in
            // So that locking or closing the store does not wait for the backup.
            _ = try self.session()
            try report(count, all)
            try database.copy(
              row, as: numbers.number(of: row), under: keys, &header, nonces: options.nonces)
            count += 1
          }
        }
      }
      return count
    }
  }
}

/// The latest backup, until it is read to the end or no longer wanted; only one is made at a time.
final class LatestBackup: Sendable {
  /// Called with the number of copied credentials and the total; throws when copying must stop.
  typealias Report = (_ done: Int, _ of: Int) throws(StorageError) -> Void

  private enum Outcome { case beingMade, givenUp, ended(Result<MadeBackup, StorageError>) }

  private struct State {
    var id = ""
    var outcome = Outcome.ended(.failure(.noBackup))
    var copied = (done: 0, of: 0)
    /// When a client last asked for the backup.
    var lastAsked = ContinuousClock.now
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var tickets = 0

    var isBeingMade: Bool { if case .beingMade = outcome { true } else { false } }

    /// Whether it is still being written; one that was given up stops at the next credential.
    var isInProgress: Bool { if case .ended = outcome { false } else { true } }

    /// Returns the finished backup; `nil` while it is being made.
    func made() throws(StorageError) -> MadeBackup? {
      switch outcome {
      case .beingMade: nil
      case .givenUp: throw .noBackup
      case .ended(let result): try result.get()
      }
    }
  }

  let queue = DispatchQueue(label: "kist.backups")
  private let readings = DispatchQueue(label: "kist.backups.readings")
  private let deadlines = DispatchQueue(label: "kist.backups.deadlines")
  private let pace: BackupPace
  private let state = Mutex(State())

  init(_ pace: BackupPace) { self.pace = pace }

  /// Begins a backup that replaces the last one, and waits for it; throws `busy` during another.
  func make(
    _ unfinished: UnfinishedStore,
    _ write: @escaping @Sendable (Report) throws(StorageError) -> Int
  ) async throws(StorageError) -> BackupProgress {
    let id = hexadecimal(randomBytes(16))
    try state.withLock { state throws(StorageError) in
      if state.isInProgress {
        throw StorageError(.busy, "another backup is in progress", hint: "try again in a while")
      }
      state = State(id: id, outcome: .beingMade)
    }
    queue.async { [self] in
      let result = Result { () throws(StorageError) in
        defer { try? unfinished.discard() }
        return try MadeBackup(unfinished, id: id, count: try write(note))
      }
      let waiting = state.withLock { state in
        defer { (state.outcome, state.waiting) = (.ended(result), [:]) }
        return state.waiting
      }
      for continuation in waiting.values { continuation.resume() }
    }
    let first = try await progress(of: id)
    giveUpUnlessAsked(id, after: pace.patience)
    return first
  }

  /// Waits for a running backup and returns its progress.
  func progress(of id: String) async throws(StorageError) -> BackupProgress {
    await waitForEnd(of: id)
    let state = try ask(id)
    if let made = try state.made() { return .made(made.backup) }
    return .copied(state.copied.done, of: state.copied.of, id: id)
  }

  /// Reads a part; after the last part, the backup is discarded.
  func read(_ part: BackupPart) async throws(StorageError) -> Secret {
    guard let made = try ask(part.id).made() else {
      throw StorageError(
        .busy, "the backup is not complete yet", hint: "ask for its progress with `backup`")
    }
    let bytes = try await readings.run { () throws(StorageError) in
      try made.read(from: part.offset)
    }
    if part.offset + bytes.count == made.backup.size { discard(part.id) }
    return bytes
  }

  /// Discards the finished backup; with an identifier, only if the backup has this identifier.
  func discard(_ id: String? = nil) {
    state.withLock { state in
      guard id == nil || id == state.id, !state.isInProgress else { return }
      state.outcome = .ended(.failure(.noBackup))
    }
  }

  private func ask(_ id: String) throws(StorageError) -> State {
    try state.withLock { state throws(StorageError) in
      guard state.id == id else { throw .noBackup }
      state.lastAsked = .now
      return state
    }
  }

  private func note(_ done: Int, of all: Int) throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      guard state.isBeingMade else { throw .noBackup }
      state.copied = (done, all)
    }
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
      after(pace.wait) { backups in
        backups.state.withLock { state in
          state.id == id ? state.waiting.removeValue(forKey: ticket) : nil
        }?.resume()
      }
    }
  }

  /// Discards a backup that no client asks for: the client has ended or has stopped reading.
  private func giveUpUnlessAsked(_ id: String, after time: Duration) {
    after(time) { backups in
      let rest = backups.state.withLock { state -> Duration? in
        if case .ended(.failure) = state.outcome { return nil }
        guard state.id == id else { return nil }
        let rest = state.lastAsked + backups.pace.patience - .now
        if !state.waiting.isEmpty || rest > .zero { return max(rest, backups.pace.wait) }
        state.outcome = state.isBeingMade ? .givenUp : .ended(.failure(.noBackup))
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
  fileprivate static let noBackup = StorageError(
    .unavailable,
    "the backup was deleted: no client asked for it for a while, or another one was started",
    hint: "make another one")
}

/// The times for which backups are waited for and kept.
package struct BackupPace: Sendable {
  /// How long a request waits for a running backup.
  package var wait = Duration.seconds(5)
  /// How long a backup continues or is kept without a request for it.
  package var patience = Duration.seconds(30)
}

/// A finished backup in a file without a name.
///
/// The system deletes its data when the file is closed, even if it was not read to its end.
private final class MadeBackup: Sendable {
  let backup: Backup
  private let file: Descriptor

  /// Opens a written file and removes its name.
  init(_ unfinished: UnfinishedStore, id: String, count: Int) throws(StorageError) {
    file = try Descriptor.open(unfinished.path, O_RDONLY)
    try unfinished.discard()
    backup = Backup(
      id: id, size: Int(try file.status(path: unfinished.path).st_size), count: count)
  }

  /// Reads the part that begins at an offset.
  func read(from offset: Int) throws(StorageError) -> Secret {
    guard (0..<backup.size).contains(offset) else {
      throw .badRequest("`offset` is not in the backup")
    }
    let count = min(Backup.partSize, backup.size - offset)
    let part = try file.secret(upTo: count, at: offset, path: "the backup")
    guard part.count == count else {
      throw StorageError(
        .unavailable, "the backup was truncated while kistd read it", hint: "make another one")
    }
    return part
  }
}
