internal import Dispatch
internal import KistCore
private import Synchronization

/// Reads the whole store once, in the background, and checks its integrity.
///
/// The pages must be sound, the rows must be where lookups find them, and their sum must be the one
/// in the header.
///
/// The check reads a snapshot, in which the header and the rows are of the same change. Changes
/// made meanwhile do not matter, because each updates the sum from the row that it replaces. A
/// store that was undamaged at the snapshot stays so, and a damaged one never becomes undamaged.
final class IntegrityCheck: Sendable {
  private enum Verdict { case whole, failed(StorageError), late }

  private struct State {
    /// The final result; a disk error does not count, because it says nothing about the store.
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
      let outcome = Result { () throws(StorageError) in
        try connection.open()
        return try sumIsRight()
      }
      connection.close()
      self.state.withLock { $0.isReading = false }
      switch outcome {
      case .success(true): finish(.whole, isFinal: true)
      // The check may have been resumed meanwhile.
      case .success(false): self.state.withLock { read(&$0) }
      case .failure(let error): finish(.failed(error), isFinal: error.code == .corrupt)
      }
    }
  }

  /// Pauses the check and closes the database; waiting callers keep waiting.
  func pause() {
    state.withLock { $0.isPaused = true }
    queue.sync {}
  }

  /// Ends the check permanently, with this error for waiting callers.
  ///
  /// It does not block the caller's thread, because the check of the pages cannot be interrupted.
  func cancel(_ reason: StorageError) async {
    state.withLock { $0.isPaused = true }
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume() }
    }
    finish(.failed(reason), isFinal: true)
  }

  /// The result so far.
  var integrity: StorageStatus.Integrity {
    switch verdict {
    case nil: .checking
    case .whole: .ok
    case .failed, .late: .failed
    }
  }

  /// Waits until the store is known to be undamaged; throws when it is damaged, or after the
  /// deadline.
  ///
  /// If a disk error ended the last check, this starts another one.
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
      // Weak, because the keys must be released when the store is locked.
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

  /// Reads everything and throws when the sum is wrong; returns `false` when paused before the end.
  private func sumIsRight() throws(StorageError) -> Bool {
    try connection.use { database throws(StorageError) in
      var isComplete = true
      try database.transaction("BEGIN") { () throws(StorageError) in
        let header = try database.header(keys)
        // Even if all rows exist, the next save might overwrite some of them on a damaged page.
        guard try database.pageFaults().isEmpty else { throw .damagedPages }
        var sum = RowSum.zero
        var count: UInt64 = 0
        var last = Int64.min
        try database.eachRowMark {
          address, tag, sequence, metadataTag, secretTag throws(StorageError) in
          // The sum does not depend on the addresses, but a lookup misses rows at wrong addresses.
          guard address > last, RowAddresses(of: tag).range.contains(address) else {
            throw .damagedRows("credentials in the store are where no lookup finds them")
          }
          last = address
          guard sequence <= header.sequence else { throw .wrongRows }
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
