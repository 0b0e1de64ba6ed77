internal import Dispatch
internal import KistCore
internal import KistSodium
internal import KistVault
private import Synchronization

/// An unlocked store: its keys, which are released with it, and its integrity check.
///
/// The master key is needed only for opening, and is not kept.
final class Session: Sendable {
  let keys: StoreKeys
  let check: IntegrityCheck
  let progress: Progress?
  let epoch: Epoch
  /// The header that this session sealed last, both decrypted and sealed.
  private let written = Mutex<(header: Header, sealed: [UInt8])?>(nil)

  /// Uses the master key to verify that the header and the slots are authentic.
  ///
  /// Throws `corrupt` also where the store is older than its progress note.
  init(
    master: GuardedKey, storeID: [UInt8], _ options: EncryptedFile.Options,
    reading connections: Connections
  ) throws(StorageError) {
    let keys = try StoreKeys(master: master, storeID: storeID)
    func readHeader() throws(StorageError) -> Header {
      try connections.read { database throws(StorageError) in
        let header = try database.header(keys)
        _ = try database.slots(of: header, storeID: storeID)
        return header
      }
    }
    func openProgress(_ header: Header) throws(StorageError) -> Progress? {
      guard let progress = options.progress else { return nil }
      return try Progress(progress, of: options, keys, header)
    }
    let header = try readHeader()
    do throws(StorageError) { progress = try openProgress(header) } catch {
      // Another session may have noted a newer change after the header was read.
      let newer = try readHeader()
      guard newer.sequence > header.sequence else { throw error }
      progress = try openProgress(newer)
    }
    epoch = header.epoch
    self.keys = keys
    check = IntegrityCheck(of: options.path, keys: keys, connections)
  }

  /// Returns the header in the database; does not open again the one that this session wrote last.
  func header(in database: Database) throws(StorageError) -> Header {
    let sealed = try database.sealedHeader(of: keys.storeID)
    if let written = written.withLock(\.self), written.sealed.span.hasSameBytes(as: sealed.span) {
      return written.header
    }
    return try keys.openHeader(sealed)
  }

  /// Returns the header that is on disk.
  func header(in connections: Connections) throws(StorageError) -> Header {
    try connections.read { database throws(StorageError) in try database.header(keys) }
  }

  func write(_ header: Header, nonce: [UInt8], into database: Database) throws(StorageError) {
    let sealed = keys.seal(header, nonce: nonce)
    written.withLock { $0 = (header, sealed) }
    try database.replaceHeader(sealed)
  }
}

/// Reads the whole store once, in the background, and checks its integrity.
///
/// The pages must be sound, and the rows must be where lookups find them, with the header's sum.
///
/// The check reads a snapshot. Changes made meanwhile do not matter, because each updates the sum
/// from the row that it replaces: an undamaged store stays so, and a damaged one stays damaged.
final class IntegrityCheck: Sendable {
  private typealias Verdict = Result<Void, StorageError>

  private struct State {
    /// The final result; a disk error does not count, because it says nothing about the store.
    var verdict: Verdict?
    var isPaused = true
    var isReading = false
    var waiting: [@Sendable (Verdict) -> Void] = []
  }

  private let keys: StoreKeys
  private let path: String
  private let connections: Connections
  private let queue = DispatchQueue(label: "kist.check", qos: .utility)
  private let state = Mutex(State())

  init(of path: String, keys: StoreKeys, _ connections: Connections) {
    (self.path, self.keys, self.connections) = (path, keys, connections)
  }

  /// Starts or resumes the check, unless it has a result.
  func start() {
    state.withLock { state in
      state.isPaused = false
      read(&state)
    }
  }

  /// Reads on the queue, unless the check is running, paused or finished.
  private func read(_ state: inout State) {
    guard state.verdict == nil, !state.isPaused, !state.isReading else { return }
    state.isReading = true
    queue.async { [self] in
      let outcome = Result { () throws(StorageError) in try verify() }
      self.state.withLock { $0.isReading = false }
      switch outcome {
      case .success(true): finish(.success(()), isFinal: true)
      // The check may have been resumed meanwhile.
      case .success(false): self.state.withLock { read(&$0) }
      case .failure(let error): finish(.failure(error), isFinal: error.code == .corrupt)
      }
    }
  }

  /// Pauses the check and closes the database; waiting callers keep waiting.
  func pause() {
    state.withLock { $0.isPaused = true }
    queue.sync {}
  }

  /// Ends the check permanently, with this error for waiting callers; does not block the thread.
  func cancel(_ reason: StorageError) async {
    state.withLock { $0.isPaused = true }
    await queue.run {}
    finish(.failure(reason), isFinal: true)
  }

  var integrity: StorageStatus.Integrity {
    switch state.withLock(\.verdict) {
    case nil: .checking
    case .success: .ok
    case .failure: .failed
    }
  }

  /// Waits until the store is known to be undamaged; throws when it is not, or after the deadline.
  ///
  /// If a disk error ended the last check, this starts another one.
  func settle(within deadline: DeadlineWatch) async throws(StorageError) {
    if let verdict = state.withLock(\.verdict) { return try verdict.get() }
    try await deadline.over(outcome: nil) { answer in
      let verdict = state.withLock { state in
        if state.verdict == nil {
          state.waiting.append(answer)
          read(&state)
        }
        return state.verdict
      }
      if let verdict { answer(verdict) }
    }
  }

  private func finish(_ verdict: Verdict, isFinal: Bool) {
    let waiting = state.withLock { state in
      if isFinal, state.verdict == nil { state.verdict = verdict }
      defer { state.waiting = [] }
      return state.waiting
    }
    for answer in waiting { answer(verdict) }
  }

  /// Calls `sumIsRight`; throws the reason for its failure where files were changed.
  private func verify() throws(StorageError) -> Bool {
    do throws(StorageError) { return try sumIsRight() } catch {
      try connections.checkPlaces()
      throw error
    }
  }

  /// Reads everything and throws when the sum is wrong; returns `false` when paused before the end.
  private func sumIsRight() throws(StorageError) -> Bool {
    let database = try Database(path: path, readonly: true, cacheKibibytes: 256)
    var isComplete = true
    try database.transaction("BEGIN") { () throws(StorageError) in
      // Even if all rows exist, the next save might overwrite some of them on a damaged page.
      guard try database.pageFaults().isEmpty else { throw .damagedPages }
      var count = 0
      isComplete = try database.verifyRows(keys, onlyEnds: true) { _, _, _ in
        count += 1
        return count % 1024 == 0 && state.withLock({ $0.isPaused }) ? .enough : .more
      }
      return false
    }
    return isComplete
  }
}
