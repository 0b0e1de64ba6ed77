internal import KistCore
internal import KistVault
private import Synchronization

extension LocalCopy {
  /// Returns the copy with an `applyLater` that keeps changes in memory, so that many are written at once.
  ///
  /// They are written by `flush`, before the next change of `apply`, if they are large, and before a request
  /// needs them: a load of a kept credential, `find`, `rows`, `tags` or a backup. If they cannot be
  /// written, that request throws the reason. If the process or the machine stops earlier, they are lost:
  /// the copy is then as it was before them.
  ///
  /// - Parameter tag: returns the tag of a credential's row.
  func keepingChanges(
    tag: @escaping @Sendable (CredentialKey) -> RowTag
  ) -> LocalCopy {
    let kept = KeptChanges(of: self)
    var copy = self
    copy.state = kept.state
    copy.row = kept.row(_:)
    copy.rows = { [rows] () throws(StorageError) in
      try await kept.flush()
      return try await rows()
    }
    copy.tags = { [tags] () throws(StorageError) in
      try await kept.flush()
      return try await tags()
    }
    copy.apply = kept.apply
    copy.applyLater = kept.applyLater
    copy.flush = kept.flush
    copy.retryFlush = kept.retryFlush
    let (credentials, backups) = (storage.credentials, storage.backups)
    copy.storage.credentials.load = { request throws(StorageError) in
      if kept.has(tag(request.key)) { try await kept.flushOnce() }
      return try await credentials.load(request)
    }
    copy.storage.credentials.find = { query throws(StorageError) in
      try await kept.flushOnce()
      return try await credentials.find(query)
    }
    copy.storage.backups.make = { request throws(StorageError) in
      try await kept.flushOnce()
      return try await backups.make(request)
    }
    return copy
  }
}

/// The changes that a copy does not have on disk yet.
private final class KeptChanges: Sendable {
  private struct State {
    /// The state of the copy on disk, which the change follows.
    let start: VaultState
    private(set) var change: CopyChange
    /// The number of bytes of all rows that were added.
    private var size = 0
    /// Why the change could not be written.
    var failure: StorageError?

    /// Whether the rows must be written before others are added.
    var isFull: Bool { size > 1 << 20 }

    init(after start: VaultState) {
      (self.start, change) = (start, CopyChange(rows: [:], state: start))
    }

    mutating func add(_ later: CopyChange) {
      change.rows.merge(later.rows) { $1 }
      change.state = later.state
      for case let row? in later.rows.values { size += row.metadata.count + row.secret.count }
    }
  }

  private let copy: LocalCopy
  private let kept = Mutex<State?>(nil)
  /// The turn to keep changes or to write.
  private let turn = Turn()

  init(of copy: LocalCopy) { self.copy = copy }

  func state() throws(StorageError) -> VaultState {
    if let state = kept.withLock({ $0?.change.state }) { return state }
    return try copy.state()
  }

  func row(_ tag: RowTag) throws(StorageError) -> SealedRow? {
    if let row = kept.withLock({ $0?.change.rows[tag] }) { return row }
    return try copy.row(tag)
  }

  func has(_ tag: @autoclosure () -> RowTag) -> Bool {
    kept.withLock { $0.map { $0.change.rows[tag()] != nil } ?? false }
  }

  func flush() async throws(StorageError) {
    guard kept.withLock({ $0 != nil }) else { return }
    try await turn.take { () throws(StorageError) in try await write() }
  }

  func retryFlush() async throws(StorageError) {
    if kept.withLock({ $0?.failure != nil }) { try await flush() }
  }

  /// Writes what is kept for a request that reads; throws the reason if that failed before.
  ///
  /// The next confirmation of the head tries again, not each request.
  func flushOnce() async throws(StorageError) {
    do throws(StorageError) {
      if let failure = kept.withLock({ $0?.failure }) { throw failure }
      try await flush()
    } catch { throw error.withoutOutcome }
  }

  func apply(_ change: CopyChange) async throws(StorageError) {
    try await turn.take { () throws(StorageError) in
      try await write()
      try await copy.apply(change)
    }
  }

  func applyLater(_ change: CopyChange) async throws(StorageError) {
    try await turn.take { () throws(StorageError) in
      if kept.withLock({ $0.map { $0.isFull || $0.failure != nil } ?? false }) {
        try await write()
      }
      if kept.withLock({ $0 == nil }) {
        let start = try copy.state()
        kept.withLock { $0 = State(after: start) }
      }
      kept.withLock { $0?.add(change) }
    }
  }

  /// Writes what is kept; the caller has the turn.
  private func write() async throws(StorageError) {
    guard let kept = kept.withLock(\.self) else { return }
    do throws(StorageError) {
      // An earlier attempt that failed may have landed.
      if try copy.state() == kept.start { try await copy.apply(kept.change) }
    } catch {
      self.kept.withLock { $0?.failure = error }
      throw error
    }
    self.kept.withLock { $0 = nil }
  }
}
