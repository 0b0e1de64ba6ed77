internal import KistCore
internal import KistVault
private import Synchronization

/// The store's connections, one for each kind of use, so that none waits for another.
final class Connections: Sendable {
  /// The connection for changes, on the writer's queue.
  private let changes: Connection
  /// The connection for loads, on the caller's thread.
  private let loads: Connection
  /// The connection for finds, on their own queue.
  let finds: Connection
  /// The connection for a copy of the whole store, which takes long; open only during a copy.
  private let copies: Connection

  private struct State {
    var isShut = false
    /// Whether the log's content is known to be on disk since the connections were opened.
    var isLogOnDisk = false
    /// Whether the name of the log is known to be on disk.
    var isLogNamed = false
  }

  private let path: String
  private let state = Mutex(State())
  /// A counter of the starts and ends of batches; odd while a batch is running.
  private let turns = Atomic(0)

  init(path: String) throws(StorageError) {
    self.path = path
    changes = Connection(
      path: path, readonly: false, cacheKibibytes: 2048, keepsLog: try isFilled(path + "-wal"))
    // Enough for the inner pages of a million rows, 2 MiB, which every lookup reads. 16 MiB, for
    // rows too, made no load faster, because the system also caches them.
    loads = Connection(path: path, readonly: true, cacheKibibytes: 4096)
    finds = Connection(path: path, readonly: true, cacheKibibytes: 512)
    copies = Connection(path: path, readonly: true, cacheKibibytes: 512)
  }

  /// Reads on the connection for loads, from a snapshot that is kept until the next change.
  ///
  /// A new snapshot makes a load 5 % slower. One kept during changes would make the log grow.
  func read<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try use(loads) { database throws(StorageError) in
      let turn = turns.load(ordering: .sequentiallyConsistent)
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
    return try use(changes, body)
  }

  /// Calls the body with the store as it is at one moment.
  func snapshot(_ body: (Database) throws(StorageError) -> Void) throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      if state.isShut { throw .closed }
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

  /// Opens the connections that are not open.
  func open() throws(StorageError) {
    try state.withLock { state throws(StorageError) in try open(&state) }
  }

  /// Calls the body with a connection, and first opens all where a failure left them closed.
  @inline(__always)
  func use<Result: Sendable>(
    _ connection: Connection, _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    if let result = try connection.useIfOpen(body) { return result }
    try open()
    return try connection.use(body)
  }

  /// Drops all cached pages, so that the next read sees a file that was replaced meanwhile.
  ///
  /// SQLite reads a cached page again only after a change by SQLite itself. This waits for a running
  /// change, so call it only while there is none.
  func dropPages() throws(StorageError) {
    for connection in [changes, loads, finds] {
      _ = try connection.useIfOpen { database throws(StorageError) in
        database.endSnapshot()
        database.releaseMemory()
      }
    }
  }

  func releaseMemory() { for connection in [changes, loads, finds] { connection.releaseMemory() } }

  /// Closes and reopens all connections; SQLite reads the log again only if none stays open.
  func reopen() throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      // Only a failed change leads here, and before it the store was known to be undamaged.
      close(&state, isKnown: true)
      try open(&state)
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

  /// Closes all connections permanently: after the store is given up, nothing may open it again.
  ///
  /// - Parameter isKnown: whether the store is known to be undamaged. Otherwise the log that was
  ///   found beside it is kept, because merging it would overwrite the database.
  func shut(isKnown: Bool) {
    state.withLock { state in
      state.isShut = true
      close(&state, isKnown: isKnown)
    }
  }

  private func open(_ state: inout State) throws(StorageError) {
    if state.isShut { throw .closed }
    if !state.isLogOnDisk {
      // First rewrites the log, because SQLite takes its content as saved and appends to it.
      try rewriteLog(of: path)
      state.isLogOnDisk = true
    }
    for connection in [changes, loads, finds] { try connection.open() }
  }

  /// Closes all connections; the last one can write, and merges and removes the log if possible.
  private func close(_ state: inout State, isKnown: Bool) {
    (state.isLogOnDisk, state.isLogNamed) = (false, false)
    for connection in [copies, finds, loads] { connection.close() }
    changes.close(mergingLog: isKnown)
  }
}

/// A connection to the database, which one thread uses at a time and which can be reopened.
final class Connection: Sendable {
  private let database = Mutex<Database?>(nil)
  private let make: @Sendable () throws(StorageError) -> Database

  /// Makes a closed connection that can read, or also write, with a page cache of this size in KiB.
  ///
  /// With `keepsLog`, closing leaves the log as it is, unless `close` decides otherwise.
  init(path: String, readonly: Bool, cacheKibibytes: Int, keepsLog: Bool = false) {
    make = { () throws(StorageError) in
      try Database(
        path: path, readonly: readonly, cacheKibibytes: cacheKibibytes, keepsLog: keepsLog)
    }
  }

  /// Opens the connection, if it is not open.
  func open() throws(StorageError) {
    try database.withLock { database throws(StorageError) in
      if database == nil { database = try make() }
    }
  }

  /// Closes the connection when its current user is done; this may merge the log into the database.
  func close(mergingLog: Bool = true) {
    database.withLock { database in
      if mergingLog { database?.keepLog(false) }
      database = nil
    }
  }

  /// Releases the memory of cached pages, unless the connection is in use.
  func releaseMemory() { database.withLockIfAvailable { $0?.releaseMemory() } }

  /// Calls the body as `useIfOpen` does; throws `unavailable` when the database is not open.
  func use<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    if let result = try useIfOpen(body) { return result }
    throw StorageError(
      .unavailable, "the store's files are closed", hint: "check the disk")
  }

  /// Calls the body with the database, one user at a time; returns `nil` when it is not open.
  func useIfOpen<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result? {
    try database.withLock { database throws(StorageError) in
      if let database { try body(database) } else { nil }
    }
  }
}
