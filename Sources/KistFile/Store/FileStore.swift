internal import Dispatch
internal import KistCore
internal import KistVault
internal import Synchronization

/// An opened store, locked or unlocked, until it is closed.
final class FileStore: Sendable {
  enum State {
    /// Locked for a reason; `problem` is the damage that the last unlock found.
    case locked(StorageError, problem: StorageError? = nil)
    case unlocked(Session)
    case closed
  }

  let options: EncryptedFile.Options
  let storeID: [UInt8]
  let connections: Connections
  let writer: Writer
  let watchers = Watchers()
  /// Limits the time of a change or a search.
  let watch: DeadlineWatch
  let findQueue = DispatchQueue(label: "kist.finds")
  let state: Mutex<State>
  let backups: LatestBackup
  private let owner: OwnerLock

  /// Locks the store for this process, creates a missing store, and unlocks it if possible.
  ///
  /// - Parameter code: the code of the error if another process has the store.
  init(
    opening options: EncryptedFile.Options, orRefuseWith code: StorageError.Code = .unavailable
  ) throws(StorageError) {
    try EncryptedFile.checkPlaces(options)
    try prepareDirectory(of: options.path)
    owner = try OwnerLock(beside: options.path, orRefuseWith: code)
    // The log of an unfinished store may remain after the store was renamed.
    for suffix in [".new", ".backup"] {
      try UnfinishedStore(path: options.path + suffix).discard()
    }
    if try !exists(options.path) {
      guard options.storeID == nil else { throw .storeIsGone }
      try createStore(options)
      options.whenMade()
    }
    let connections = Connections(path: options.path, storeID: options.storeID)
    do throws(StorageError) {
      _ = try connections.openFiles()
      let (storeID, slots) = try connections.read { database throws(StorageError) in
        let storeID = try database.storeRow().id
        return (storeID, try database.slots(storeID: storeID))
      }
      let initial = try Self.initialState(options, storeID, slots, connections)
      state = Mutex(initial)
      self.storeID = storeID
      // The store opens with the new key at either path; the next start tries again.
      try? KeyFileChange.finish(options.keySource, slots, storeID: storeID)
      var opened: String?
      if case (.unlocked, .keyFile(let path)) = (initial, options.keySource) { opened = path }
      try discardRekeys(of: options.path, slots, keyFile: opened)
      if case .locked(let reason, _) = initial {
        _ = connections.lock(reason, isKnown: false, unlessAfter: 0)
      }
    } catch {
      _ = connections.shut(isKnown: false)
      throw error
    }
    self.connections = connections
    self.options = options.withoutPassphrase
    backups = LatestBackup(options.backupPace)
    writer = Writer(connections: connections, options: self.options, watchers: watchers)
    watch = DeadlineWatch(options.deadline, sleep: options.sleep)
    state.withLock { if case .unlocked(let session) = $0 { session.check.start() } }
  }

  private static func initialState(
    _ options: EncryptedFile.Options, _ storeID: [UInt8], _ slots: [KeySlot],
    _ connections: Connections
  ) throws(StorageError) -> State {
    do throws(StorageError) {
      let master = try masterKey(from: options.keySource, slots, storeID: storeID)
      return .unlocked(
        try Session(master: master, storeID: storeID, options, reading: connections))
    } catch  where error.code == .locked { return .locked(error) }
  }

  /// Returns the session of the unlocked store; throws `locked` when it has none.
  func session() throws(StorageError) -> Session {
    try state.withLock { state throws(StorageError) in
      switch state {
      case .unlocked(let session): return session
      case .locked(let reason, _): throw reason
      case .closed: throw .closed
      }
    }
  }

  /// Returns the session; `nil` when the store is locked.
  func sessionIfUnlocked() throws(StorageError) -> Session? {
    do throws(StorageError) { return try session() } catch  where error.code == .locked {
      return nil
    }
  }

  /// Finishes the running requests, forgets the keys and closes the files.
  func close() async {
    let session = state.withLock { state -> Session? in
      defer { state = .closed }
      if case .unlocked(let session) = state { return session }
      return nil
    }
    await quiesce(session, because: .closed)
    backups.discard()
    let failure = connections.shut(isKnown: session?.check.integrity == .ok)
    if let failure { options.whenLogKept(failure) }
    watchers.end(.closed)
    owner.release()
  }

  /// Waits until no request uses a session.
  func quiesce(_ session: Session?, because reason: StorageError) async {
    await session?.check.cancel(reason)
    await writer.finish()
    await session?.progress?.flush()
    for queue in [findQueue, backups.queue] { await queue.run {} }
  }

  /// Begins to watch, even while the store is locked.
  func beginWatching(_ request: WatchRequest) throws(StorageError) -> CredentialChanges {
    try watchers.watch(request) { () throws(StorageError) in
      try sessionIfUnlocked()?.header(in: connections).lastRevision
    }
  }

  /// The functions that seal the names in requests while the store is unlocked.
  var nameSeal: NameSeal {
    NameSeal(
      begin: {
        guard
          let keys = try? self.session().keys,
          var sealing = try? NameSealing(keys, nonce: self.options.nonces(1))
        else { return nil }
        return { sealing.seal($0, boundTo: $1, into: &$2) }
      },
      open: { sealed, text throws(StorageError) in
        try self.session().keys.openNames(sealed, boundTo: text)
      },
      hash: { (try? self.session().keys)?.chainHash(of: $0) })
  }
}

extension DispatchQueue {
  /// Runs a blocking function on this queue to its end, so that the caller's thread stays free.
  func run<Output: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Output
  ) async throws(Failure) -> Output {
    let result = await withCheckedContinuation { continuation in
      async { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
  }
}

extension DispatchTime {
  /// Returns the time after a duration from now.
  static func after(_ time: Duration) -> DispatchTime {
    let (seconds, attoseconds) = time.components
    return .now() + Double(seconds) + Double(attoseconds) * 1e-18
  }
}
