internal import KistCluster
internal import KistCore
internal import KistShared
internal import KistVault
internal import Synchronization

/// A vault on this machine: its copy, what was verified of it, and the cluster.
final class Replica: Sendable {
  struct State {
    var known: KnownVault
    /// The tag of the service of each row in the copy, by key tag, because heads name only key tags.
    var services: [RecordID: Tag]
    /// When the last confirmation of the head began; `nil` after a failure.
    var confirmedAt: Duration?
    /// When the last successful confirmation of the head began.
    var asOf: Timestamp
    /// The position of the cluster up to which the copy has all changes.
    var position: ClusterPosition?
    /// The number of the last change in the note, and the hash of its roster.
    var noted: (sequence: UInt64, roster: Digest)
    /// The last beacon since this machine opened the vault.
    var beacon: WrittenBeacon?
    /// The copy for the next generation; `nil` before it is complete.
    var next: NextCopy?
    /// The key tags of the rows that changed since those for the next copy were read; `nil` if none is made.
    var changed: Set<RecordID>?
    /// Whether everything for the copy of a generation that began was made, or is being made.
    var isRenewed = false
    /// Why the last confirmation failed; before the first one, what is wrong with the copy.
    var problem: StorageError?
    /// The warnings that the adapter sent with the last head; none if it could not be read.
    var adapterWarnings: [String] = []
    /// The last change of another machine whose time differed much from this machine's clock.
    var oddTime: OddTime?
    /// The number of refreshes that have begun.
    var refreshes = 0
    /// Whether the replica is closed once the running change is done.
    var isClosing = false
    var isClosed = false
  }

  let cluster: Cluster
  let copy: LocalCopy
  let options: ReplicaOptions
  let state: Mutex<State>
  let turn = Turn()
  /// The turn to make a copy for another generation.
  let renewing = Turn()
  /// Has an element after an admin announced another generation.
  let announcements = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  /// Has an element after a change was kept in memory.
  let changesToWrite = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  let watchers = Watchers()

  /// The number of changes after which the note is written again.
  static let changesPerNote: UInt64 = 64

  /// - Parameter asOf: when what is known was confirmed.
  init(
    _ known: KnownVault, asOf: Timestamp, copy: LocalCopy, on cluster: Cluster,
    _ options: ReplicaOptions
  ) async throws(StorageError) {
    (self.cluster, self.options) = (cluster, options)
    self.copy = copy.keepingChanges(tag: known.keys.store.tag(of:))
    let services = try await copy.tags().map { (RecordID($0.key), $0.service) }
    let isOlder = try copy.state().sequence < known.state.sequence
    state = Mutex(
      State(
        known: known, services: Dictionary(services) { $1 }, asOf: asOf,
        noted: known.noteVersion, problem: isOlder ? .olderCopy : nil))
  }

  /// Returns what is known; throws `unavailable` when the replica is closed.
  func known() throws(StorageError) -> KnownVault {
    try state.withLock { state throws(StorageError) in
      if state.isClosed { throw .closed }
      return state.known
    }
  }

  /// Whether a credential that is not in the copy is absent.
  var trustsAbsence: Bool {
    let now = options.elapsed()
    return state.withLock { state in
      !state.isClosed && state.confirmedAt.map { now - $0 <= options.trustsAbsenceFor } ?? false
    }
  }

  /// Reads the head, and waits until the copy has it.
  ///
  /// Callers that wait for their turn share the next refresh, so that they do not fail one after another
  /// while the cluster does not answer.
  func refresh() async throws(StorageError) {
    let before = state.withLock(\.refreshes)
    try await turn.take { () throws(StorageError) in
      let isShared = try state.withLock { state throws(StorageError) in
        // Otherwise `close` would wait for each of them.
        if state.isClosing { throw .closed }
        // One that began after this call has every change that was made before this call.
        if state.refreshes > before {
          if state.confirmedAt == nil { throw state.problem ?? .noAnswer }
          return true
        }
        state.refreshes += 1
        return false
      }
      if !isShared { try await catchUp() }
    }
  }

  /// Returns a credential from the copy.
  ///
  /// A credential that is not in the copy is absent only if the head was confirmed before the copy was
  /// read.
  func load(_ request: LoadRequest) async throws(StorageError) -> Credential {
    _ = try known()
    if let most = request.maxStale, !isConfirmed(within: most) {
      return try await loadFresh(request)
    }
    let trustsAbsence = trustsAbsence
    do throws(StorageError) { return try await loadFromCopy(request) } catch {
      guard error.code == .notFound, !trustsAbsence else { throw error }
    }
    return try await loadFresh(request)
  }

  /// Whether the head was confirmed at most some seconds ago; with 0, it must be confirmed now.
  private func isConfirmed(within seconds: Int64) -> Bool {
    let asOf = state.withLock(\.asOf)
    return seconds > 0 && asOf.advanced(bySeconds: seconds).map { options.now() <= $0 } ?? true
  }

  /// Returns a credential as it is in the cluster now, or later.
  private func loadFresh(_ request: LoadRequest) async throws(StorageError) -> Credential {
    do throws(StorageError) { try await refresh() } catch { throw error.withoutOutcome }
    return try await loadFromCopy(request)
  }

  /// Returns a credential of the copy, expired or not: `SharedVault` checks this by its own clock.
  private func loadFromCopy(_ request: LoadRequest) async throws(StorageError) -> Credential {
    let asOf = state.withLock(\.asOf)
    var credential = try await copy.storage.credentials.load(
      LoadRequest(key: request.key, allowExpired: true))
    credential.asOf = asOf
    return credential
  }

  func find(_ query: CredentialQuery) async throws(StorageError) -> CredentialPage {
    _ = try known()
    return try await copy.storage.credentials.find(query)
  }

  func beginWatching(_ request: WatchRequest) throws(StorageError) -> CredentialChanges {
    try watchers.watch(request) { () throws(StorageError) in
      _ = try known()
      // The copy may have changes that were not reported yet.
      return try copy.state().revision
    }
  }

  /// Remembers a verified state that the copy has, in memory or on disk, and reports the changes to watchers.
  ///
  /// - Parameter start: when a read of this head began; `nil` if the head was not read.
  func advance(
    to known: KnownVault, confirmedAt start: Moment?, _ position: ClusterPosition,
    storing rows: [RecordID: SealedRow?], events: [CredentialChange]
  ) {
    state.withLock { state in
      state.known = known
      if let start {
        (state.confirmedAt, state.asOf, state.problem) = (start.elapsed, start.time, nil)
      }
      state.position = position
      for (key, row) in rows { state.services[key] = row?.identity.tag.service }
    }
    watchers.tell(events)
  }

  /// Writes the note beside the copy after some changes or a new roster; all changes are on disk.
  ///
  /// The caller has the turn.
  func writeNoteIfDue(after changes: UInt64 = changesPerNote) {
    let isDue = state.withLock { state in
      let (sequence, roster) = state.known.noteVersion
      return roster != state.noted.roster || sequence >= state.noted.sequence + changes
    }
    if isDue { writeNote() }
  }

  /// Writes the note beside the copy.
  ///
  /// A failure does no harm: the changes after an older note are verified again.
  private func writeNote() {
    let (known, asOf) = state.withLock { ($0.known, $0.asOf) }
    let note = known.note(asOf: asOf).encoded(signedBy: options.machine)
    guard (try? copy.setNote(note)) != nil else { return }
    state.withLock { $0.noted = known.noteVersion }
  }

  /// Waits for the running change, and closes the copy.
  func close() async {
    state.withLock { $0.isClosing = true }
    try? await turn.take {
      let wasClosed = state.withLock { state in
        defer { state.isClosed = true }
        return state.isClosed
      }
      // A note that is newer than the copy would say that the copy is not complete.
      if !wasClosed, (try? await copy.flush()) != nil { writeNote() }
    }
    announcements.continuation.finish()
    changesToWrite.continuation.finish()
    await discardNextCopy()
    watchers.end(state.withLock { $0.problem == .newGeneration } ? .newCopy : .closed)
    await copy.storage.close()
  }
}

extension KnownVault {
  /// The number of the last change, and the hash of its roster.
  fileprivate var noteVersion: (sequence: UInt64, roster: Digest) {
    (head.head.sequence, roster.digest)
  }
}

extension VaultState {
  /// The revision of the last change.
  var revision: Revision { epoch.revision(of: sequence) }
}

extension StorageError {
  fileprivate static let olderCopy = StorageError(
    .corrupt, "the copy of the vault on this machine is older than its note",
    hint:
      "it was restored from a backup, or was not completed; kist completes it when it reaches the "
      + "cluster")

  fileprivate static let newCopy = StorageError(
    .unavailable, "the vault has a new key, and kistd opens its new copy", hint: "watch again")

  /// The same error for a request that changes nothing.
  var withoutOutcome: StorageError {
    var error = self
    error.outcome = nil
    return error
  }

  /// The same error for a change that was not begun.
  var unchanged: StorageError {
    var error = self
    error.outcome = .unchanged
    return error
  }
}
