internal import Dispatch
internal import KistCore
private import Synchronization

/// Reads the whole store once, beside the service: its pages must be sound, its rows must stand where
/// lookups find them, and their sum must be the one in the header.
///
/// It reads a snapshot, in which header and rows are of the same change. A change that is made
/// meanwhile needs no account: it brings the sum up to date from what it replaces, so a store that
/// was whole at the snapshot is whole after it, and one that was not never becomes so.
final class IntegrityCheck: Sendable {
  private enum Verdict { case whole, failed(StorageError), late }

  private struct State {
    /// What is known for good; an error of the disk tells nothing of the store.
    var verdict: Verdict?
    var isPaused = true
    var isReading = false
    var waiting: [Int: CheckedContinuation<Verdict, Never>] = [:]
    var tickets = 0
  }

  private let keys: StoreKeys
  private let connection: Connection
  private let queue = DispatchQueue(label: "kist.check", qos: .utility)
  private let deadlines = DispatchQueue(label: "kist.check.deadlines")
  private let state = Mutex(State())

  init(of path: String, keys: StoreKeys) {
    self.keys = keys
    connection = Connection(path: path, readonly: true, cacheKibibytes: 256)
  }

  /// Begins to read, or begins again after a pause, unless all is known.
  func start() {
    state.withLock { state in
      state.isPaused = false
      read(&state)
    }
  }

  /// Reads on the queue, unless that is under way already or there is nothing to find out.
  private func read(_ state: inout State) {
    guard state.verdict == nil, !state.isPaused, !state.isReading else { return }
    state.isReading = true
    queue.async { [self] in
      let outcome = Result { () throws(StorageError) in
        try connection.open()
        return try sumIsRight()
      }
      connection.close()
      self.state.withLock { $0.isReading = false }
      switch outcome {
      case .success(true): finish(.whole, isFinal: true)
      // It may have gone on meanwhile.
      case .success(false): self.state.withLock { read(&$0) }
      case .failure(let error): finish(.failed(error), isFinal: error.code == .corrupt)
      }
    }
  }

  /// Stops reading and lets go of the database; who waits goes on waiting.
  func pause() {
    state.withLock { $0.isPaused = true }
    queue.sync {}
  }

  /// Ends the check for good, for a reason that is told to who waits.
  ///
  /// The caller's thread is not kept for it: where the pages are looked at, nothing ends that.
  func cancel(_ reason: StorageError) async {
    state.withLock { $0.isPaused = true }
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume() }
    }
    finish(.failed(reason), isFinal: true)
  }

  /// What is known so far.
  var integrity: StorageStatus.Integrity {
    switch verdict {
    case nil: .checking
    case .whole: .ok
    case .failed, .late: .failed
    }
  }

  /// Waits until the store is known to be whole; throws when it is not, or not within the deadline.
  ///
  /// If the last reading was ended by an error of the disk, this begins another.
  func settle(within deadline: Duration) async throws(StorageError) {
    switch await verdict(within: deadline) {
    case .whole: return
    case .failed(let error): throw error
    case .late: throw .timeout(after: deadline)
    }
  }

  private var verdict: Verdict? { state.withLock(\.verdict) }

  private func verdict(within deadline: Duration) async -> Verdict {
    if let verdict { return verdict }
    return await withCheckedContinuation { continuation in
      let (ticket, verdict) = state.withLock { state -> (Int, Verdict?) in
        if let verdict = state.verdict { return (0, verdict) }
        state.tickets += 1
        state.waiting[state.tickets] = continuation
        read(&state)
        return (state.tickets, nil)
      }
      if let verdict { return continuation.resume(returning: verdict) }
      // Not held until then: the keys must go when the store is locked.
      deadlines.asyncAfter(deadline: .after(deadline)) { [weak self] in self?.giveUp(ticket) }
    }
  }

  private func giveUp(_ ticket: Int) {
    let continuation = state.withLock { $0.waiting.removeValue(forKey: ticket) }
    continuation?.resume(returning: .late)
  }

  private func finish(_ verdict: Verdict, isFinal: Bool) {
    let waiting = state.withLock { state in
      if isFinal, state.verdict == nil { state.verdict = verdict }
      defer { state.waiting = [:] }
      return state.waiting
    }
    for continuation in waiting.values { continuation.resume(returning: verdict) }
  }

  /// Reads everything and throws when the sum is wrong; `false` when it was paused before the end.
  private func sumIsRight() throws(StorageError) -> Bool {
    try connection.use { database throws(StorageError) in
      var isComplete = true
      try database.transaction("BEGIN") { () throws(StorageError) in
        let header = try database.header(keys)
        // Rows that are all there may yet lie where the next save would put something else.
        guard try database.pageFaults().isEmpty else { throw .damagedPages }
        var sum = RowSum.zero
        var count: UInt64 = 0
        var last = Int64.min
        try database.eachRowMark {
          address, tag, sequence, metadataTag, secretTag throws(StorageError) in
          // The sum is the same wherever they lie, but a lookup misses what lies elsewhere.
          guard address > last, RowAddresses(of: tag).range.contains(address) else {
            throw .damagedRows("credentials in the store are where no lookup finds them")
          }
          last = address
          sum += keys.hash(
            tag: tag, sequence: sequence, metadata: metadataTag.span, secret: secretTag.span)
          count += 1
          if count % 1024 == 0, state.withLock({ $0.isPaused }) { isComplete = false }
          return isComplete ? .more : .enough
        }
        guard !isComplete || (sum == header.sum && count == header.count) else {
          throw .wrongRows
        }
        return false
      }
      return isComplete
    }
  }
}
