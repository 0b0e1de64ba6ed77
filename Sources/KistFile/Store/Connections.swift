internal import Glibc
internal import KistCore
internal import KistVault
internal import Synchronization

/// The store's connections, one for each kind of use, so that none waits for another.
///
/// A locked store has none open: its files may be replaced, and each opening checks them again.
final class Connections: Sendable {
  /// The connection for changes, on the writer's queue.
  private let changes: Connection
  /// The connection for loads, on the caller's thread.
  private let loads: Connection
  /// The connection for finds, on their own queue.
  let finds: Connection
  /// The connection for a copy of the whole store, which takes long; open only during a copy.
  private let copies: Connection
  let snapshots = Mutex(())

  private enum Access {
    case open, closed
    /// No connection may be opened, for this reason, until the store is unlocked.
    case locked(StorageError)
  }

  private struct State: ~Copyable {
    var access = Access.open
    /// The id of the store, as soon as it is known.
    var storeID: String?
    /// The open files; `nil` while the connections are closed.
    var files: StoreFiles?
    /// The log of these files, for the case that it is removed.
    var log: Descriptor?
    /// The files that were opened first since the last unlock.
    var firstFiles: StoreFiles?
    /// The files that were opened at the start.
    var oldestFiles: StoreFiles?
    /// Whether the log's content is known to be on disk since the connections were opened.
    var isLogOnDisk = false
    /// Whether the name of the log is known to be on disk.
    var isLogNamed = false
  }

  let path: String
  private let state: Mutex<State>
  let ownWrites: OwnWrites
  /// A counter of the starts and ends of batches; odd while a batch is running.
  private let turns = Atomic(0)
  var turn: Int { turns.load(ordering: .sequentiallyConsistent) }
  private let unlocks = Atomic(0)

  /// Makes closed connections; opening them throws where the store has another id.
  init(path: String, storeID: String?) {
    (self.path, ownWrites) = (path, OwnWrites(path: path))
    state = Mutex(State(storeID: storeID))
    changes = Connection(path: path, readonly: false, cacheKibibytes: 2048)
    // Enough for the inner pages of a million rows, 2 MiB. 16 MiB, for rows too, made no load faster.
    loads = Connection(path: path, readonly: true, cacheKibibytes: 4096)
    finds = Connection(path: path, readonly: true, cacheKibibytes: 512)
    copies = Connection(path: path, readonly: true, cacheKibibytes: 512)
  }

  /// Reads on the connection for loads, from a snapshot that is kept until the next change.
  ///
  /// Most loads then begin no transaction. A snapshot kept during changes would make the log grow.
  func read<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try use(loads) { database throws(StorageError) in
      let turn = self.turn
      return try turn.isMultiple(of: 2)
        ? database.withSnapshot(turn) { () throws(StorageError) in try body(database) }
        : body(database)
    }
  }

  /// Calls the body with the connection for changes; later reads see its changes.
  func change<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    turns.add(1, ordering: .sequentiallyConsistent)
    defer { turns.add(1, ordering: .sequentiallyConsistent) }
    try use(loads) { database throws(StorageError) in database.endSnapshot() }
    return try use(changes) { database throws(StorageError) in
      defer { if database.takeMerged() { ownWrites.note() } }
      return try body(database)
    }
  }

  /// Reads as `read` does, or from the files of a locked store, without changing them.
  func readEvenLocked<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    let inspected = try state.withLock { state throws(StorageError) -> Result? in
      guard case .locked = state.access else { return nil }
      let found = try StoreFiles(path)
      try found.checkDatabase()
      try state.oldestFiles?.checkDirectory()
      try FileHeader.check(path, settingMode: false)
      let database = try Database(inspecting: path, hasLog: found.hasLog)
      state.storeID = try database.checkStore(at: path, id: state.storeID)
      return try body(database)
    }
    if let inspected { return inspected }
    do throws(StorageError) { return try read(body) } catch  where error.code == .locked {
      // The store was locked meanwhile.
      return try readEvenLocked(body)
    }
  }

  /// Calls the body with the store as it is at one moment; the caller holds `snapshots`.
  func readSnapshot(_ body: (Database) throws(StorageError) -> Void) throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      try checkAccess(state)
      try checkPlaces(state)
      try copies.open()
    }
    defer { copies.close() }
    try copies.use { database throws(StorageError) in
      try database.transaction("BEGIN") { () throws(StorageError) in
        try body(database)
        return true
      }
    }
  }

  /// Throws where the paths do not lead to the open files, or the log is shorter than its content.
  func checkPlaces() throws(StorageError) {
    try state.withLock { state throws(StorageError) in try checkPlaces(state) }
  }

  private func checkPlaces(_ state: borrowing State) throws(StorageError) {
    guard let files = state.files else { return }
    let (turn, last) = (self.turn, ownWrites.last)
    // `nil` during a change, which itself may make the log shorter, or merge it.
    let size = try changes.useIfFree { database throws(StorageError) in try database.logSize() }
    let write = try files.checkPlaces(logSize: size ?? 0)
    if turn.isMultiple(of: 2), turn == self.turn { try ownWrites.check(write, after: last) }
  }

  /// Opens the connections that are not open, and returns the open files.
  func openFiles() throws(StorageError) -> StoreFiles {
    try state.withLock { state throws(StorageError) in try open(&state) }
  }

  /// Calls the body with a connection, and first opens all where a failure left them closed.
  @inline(__always)
  func use<Result: Sendable>(
    _ connection: Connection, _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    if let result = try connection.useIfOpen(body) { return result }
    _ = try openFiles()
    return try connection.use(body)
  }

  func releaseMemory() { for connection in [changes, loads, finds] { connection.releaseMemory() } }

  /// Closes and reopens all connections; SQLite reads the log again only if none stays open.
  ///
  /// Throws, and leaves them open, where other files are in the place of the open ones.
  func reopen() throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      try checkPlaces(state)
      // Only a failed change leads here, and before it the store was known to be undamaged.
      if let error = close(&state, isKnown: true) { throw error }
      _ = try open(&state)
      // The removed log must not reappear after a power cut, with the changes that were undone.
      try flushDirectory(of: path)
    }
  }

  /// Waits until the name of the log is on disk: SQLite does so, but does not report a failure.
  func flushLogName() throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      if state.isLogNamed { return }
      try flushDirectory(of: path)
      state.isLogNamed = true
    }
  }

  /// The number of unlocks so far, for `lock`.
  var unlockCount: Int { unlocks.load(ordering: .sequentiallyConsistent) }

  /// Closes all connections until `unlock`, unless there was an unlock since this number of them.
  ///
  /// - Parameter isKnown: as for `shut`; so is the returned error.
  func lock(_ reason: StorageError, isKnown: Bool, unlessAfter unlocks: Int) -> StorageError? {
    state.withLock { state in
      guard case .open = state.access, unlocks == unlockCount else { return nil }
      (state.access, state.firstFiles) = (.locked(reason), nil)
      return close(&state, isKnown: isKnown)
    }
  }

  /// Allows to open the connections of a locked store again, and opens the files that are there now.
  func unlock() throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      unlocks.add(1, ordering: .sequentiallyConsistent)
      guard case .locked(let reason) = state.access else { return }
      state.access = .open
      do throws(StorageError) { _ = try open(&state) } catch {
        (state.access, state.firstFiles) = (.locked(reason), nil)
        throw error
      }
    }
  }

  /// Closes all connections permanently: after the store is given up, nothing may open it again.
  ///
  /// - Parameter isKnown: whether the store is known to be undamaged. Otherwise the log that was
  ///   found beside it is kept, because merging it would overwrite the database.
  /// - Returns: the reason why changes in the log may be lost, where the files are not as they were.
  func shut(isKnown: Bool) -> StorageError? {
    state.withLock { state in
      state.access = .closed
      return close(&state, isKnown: isKnown)
    }
  }

  private func checkAccess(_ state: borrowing State) throws(StorageError) {
    switch state.access {
    case .open: return
    case .locked(let reason): throw reason
    case .closed: throw .closed
    }
  }

  /// Opens the connections, if they are closed, with all checks of a start.
  private func open(_ state: inout State) throws(StorageError) -> StoreFiles {
    try checkAccess(state)
    if let files = state.files { return files }
    let found = try StoreFiles(path)
    try found.checkDatabase()
    try state.oldestFiles?.checkDirectory()
    // Only an unlock checks whether other files are older than the last change.
    if let first = state.firstFiles, !found.hasDatabase(of: first) { throw .filesReplaced(path) }
    try FileHeader.check(path)
    let keepsLog = try isFilled(path + "-wal")
    if !state.isLogOnDisk {
      // First rewrites the log, because SQLite takes its content as saved and appends to it.
      try rewriteLog(of: path)
      state.isLogOnDisk = true
    }
    do throws(StorageError) {
      try changes.open(keepsLog: keepsLog)
      state.storeID = try changes.use { [id = state.storeID] database throws(StorageError) in
        try database.checkStore(at: path, id: id)
      }
      for connection in [loads, finds] { try connection.open() }
      state.log = try Descriptor.open(path + "-wal", O_RDONLY)
      let files = try StoreFiles(path)
      guard files.hasDatabase(of: found) else { throw .filesReplaced(path) }
      (state.files, state.firstFiles) = (files, files)
      ownWrites.note()
      if state.oldestFiles == nil { state.oldestFiles = files }
      return files
    } catch {
      _ = close(&state, isKnown: false)
      throw error
    }
  }

  /// Closes all connections; the last one can write, and merges and removes the log if possible.
  ///
  /// Returns the reason why changes in the log may be lost, where it cannot merge a changed log.
  private func close(_ state: inout State, isKnown: Bool) -> StorageError? {
    (state.isLogOnDisk, state.isLogNamed) = (false, false)
    for connection in [copies, finds, loads] { connection.close() }
    var keepsLog = isKnown ? false : nil
    var failure: StorageError?
    do throws(StorageError) {
      if try !canMerge(state) { keepsLog = true }
    } catch {
      (keepsLog, failure) = (true, .closedWithoutLog(error))
    }
    changes.close(keepsLog: keepsLog)
    state.files = nil
    state.log = nil
    return failure
  }

  /// Returns whether merging the log is safe; throws where the files are not as they were.
  ///
  /// Without a log, a crash or a full disk during the merge would damage the database. So a removed
  /// log is written again, and the next opening merges it.
  private func canMerge(_ state: borrowing State) throws(StorageError) -> Bool {
    guard let files = state.files else { return true }
    let found = try StoreFiles(path)
    if found.hasDatabase(of: files), !found.hasLog {
      if let write = files.lastWrite { try ownWrites.check(write, after: ownWrites.last) }
      try state.log?.restoreLog(of: path)
      return false
    }
    // Not during a change, which may merge the log.
    try changes.use { database throws(StorageError) in
      try checkPlaces(of: files, logSize: database.logSize())
    }
    return true
  }
}
