internal import Dispatch
internal import KistCore
internal import Synchronization

/// An opened store, locked or not, until it is closed.
final class FileStore: Sendable {
  enum State {
    case locked(StorageError)
    case unlocked(Session)
    case closed
  }

  let options: EncryptedFile.Options
  let storeID: [UInt8]
  let connections: Connections
  let writer: Writer
  let watchers = Watchers()
  /// Bounds what a change or a search may take.
  let watch: DeadlineWatch
  let findQueue = DispatchQueue(label: "kist.finds")
  let state: Mutex<State>
  /// Passphrases are tried here, and nowhere else.
  let attempts: PassphraseAttempts
  /// What was made to be fetched as a backup.
  let backups: LatestBackup
  private let owner: OwnerLock

  /// Takes the store for this process, makes it where there is none, and unlocks it if it can.
  init(opening options: EncryptedFile.Options) throws(StorageError) {
    try prepareDirectory(of: options.path)
    owner = try OwnerLock(beside: options.path)
    UnfinishedStore.discardAll(beside: options.path)
    if try !exists(options.path) {
      guard options.storeID == nil else { throw .storeIsGone }
      try createStore(options)
      options.whenMade()
    }
    try FileHeader.check(options.path)
    let connections = try Connections(path: options.path)
    do throws(StorageError) {
      try connections.open()
      let (storeID, slots) = try connections.read { database throws(StorageError) in
        try database.checkVersion(of: options.path)
        try Schema.check(database)
        let storeID = try database.storeRow().id
        if let expected = options.storeID, expected != hexadecimal(storeID) { throw .anotherStore }
        return (storeID, try database.slots(storeID: storeID))
      }
      state = Mutex(try Self.initialState(options, storeID, slots, connections))
      self.storeID = storeID
      // It opens with the new key wherever that is; the next start tries again.
      try? KeyFileChange.finish(options.keySource, slots, storeID: storeID)
    } catch {
      connections.shut(isKnown: false)
      throw error
    }
    self.connections = connections
    self.options = options.withoutPassphrase
    backups = LatestBackup(options.backupPace)
    writer = Writer(connections: connections, options: self.options, watchers: watchers)
    attempts = PassphraseAttempts(sleep: options.sleep)
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
        try Session(
          master: master, storeID: storeID, path: options.path, reading: connections))
    } catch  where error.code == .locked {
      return .locked(error)
    }
  }

  /// The keys; `locked` when there are none.
  func session() throws(StorageError) -> Session {
    try state.withLock { state throws(StorageError) in
      switch state {
      case .unlocked(let session): return session
      case .locked(let reason): throw reason
      case .closed: throw .closed
      }
    }
  }

  /// Finishes what was begun, forgets the keys and lets go of the files.
  func close() async {
    let session = state.withLock { state -> Session? in
      defer { state = .closed }
      if case .unlocked(let session) = state { return session }
      return nil
    }
    await quiesce(session, because: .closed)
    backups.discard()
    connections.shut(isKnown: session?.check.integrity == .ok)
    watchers.end(.closed)
    owner.release()
  }

  /// Waits until nobody uses a session any more.
  func quiesce(_ session: Session?, because reason: StorageError) async {
    await session?.check.cancel(reason)
    await writer.finish()
    for queue in [findQueue, backups.queue] {
      await withCheckedContinuation { continuation in
        queue.async { continuation.resume() }
      }
    }
  }
}
