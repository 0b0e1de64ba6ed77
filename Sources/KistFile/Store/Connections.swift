internal import KistCore
private import Synchronization

/// The store's connections, one for each kind of use, so that none waits for another.
final class Connections: Sendable {
  /// For changes, on the writer's queue.
  private let changes: Connection
  /// For loads, on the thread of whoever asks.
  private let loads: Connection
  /// For finds, on their own queue.
  let finds: Connection
  /// For a copy of all, which takes long; open only while one is made.
  private let copies: Connection

  private struct State {
    var isShut = false
    /// Whether what is in the log is known to be on disk, since they were opened.
    var isLogOnDisk = false
    /// Whether the name of the log is known to be on disk.
    var isLogNamed = false
  }

  private let path: String
  private let state = Mutex(State())
  /// How often a batch of changes has begun or ended; odd while one is under way.
  private let turns = Atomic(0)

  init(path: String) throws(StorageError) {
    self.path = path
    changes = Connection(
      path: path, readonly: false, cacheKibibytes: 2048, keepsLog: try isFilled(path + "-wal"))
    // Room for the inner pages of a million rows, 2 MiB, which lie on the way to every row. 16 MiB, for
    // rows too, made no load faster, as the system keeps them as well.
    loads = Connection(path: path, readonly: true, cacheKibibytes: 4096)
    finds = Connection(path: path, readonly: true, cacheKibibytes: 512)
    copies = Connection(path: path, readonly: true, cacheKibibytes: 512)
  }

  /// Reads on the connection for loads, from a snapshot that is kept until the next change.
  ///
  /// To take one anew costs a load 5 %. While changes are under way none is kept: one that is would
  /// keep the log from being begun anew.
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

  /// Lends the connection for changes; what is read afterwards sees them.
  func change<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    turns.add(1, ordering: .sequentiallyConsistent)
    defer { turns.add(1, ordering: .sequentiallyConsistent) }
    try use(loads) { database throws(StorageError) in database.endSnapshot() }
    return try use(changes, body)
  }

  /// Lends the store as it is at one moment, for as long as the body takes.
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

  /// Opens those that are not open.
  func open() throws(StorageError) {
    try state.withLock { state throws(StorageError) in try open(&state) }
  }

  /// Lends one of them, and opens all first where a failure has left them closed.
  @inline(__always)
  func use<Result: Sendable>(
    _ connection: Connection, _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    if let result = try connection.useIfOpen(body) { return result }
    try open()
    return try connection.use(body)
  }

  /// Gives back the memory of the pages that are kept for requests to come.
  func releaseMemory() {
    for connection in [changes, loads, finds] { connection.releaseMemory() }
  }

  /// Closes all and opens them again, so that the log is read again: that it is only when not one of
  /// them is open, and nobody opens one meanwhile.
  func reopen() throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      // Only who has changed something does so, and the store was known to be whole before.
      close(&state, isKnown: true)
      try open(&state)
      // The log that was removed must not come back after a power cut, with what was undone.
      try flushDirectory(of: path)
    }
  }

  /// Waits until the name of the log is on disk, if that is not known: SQLite does so before the
  /// first change is, but does not tell when it could not.
  func flushLogName() throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      if state.isLogNamed { return }
      try flushDirectory(of: path)
      state.isLogNamed = true
    }
  }

  /// Closes all for good: when the store is given up, nothing may open it again.
  ///
  /// - Parameter isKnown: whether the store is known to be whole; of one that is not, a log that was
  ///   found beside it is left there, since with it the database would be written over.
  func shut(isKnown: Bool) {
    state.withLock { state in
      state.isShut = true
      close(&state, isKnown: isKnown)
    }
  }

  private func open(_ state: inout State) throws(StorageError) {
    if state.isShut { throw .closed }
    if !state.isLogOnDisk {
      // Before it is read: what is read counts, and the next change is written behind it.
      try rewriteLog(of: path)
      state.isLogOnDisk = true
    }
    try changes.open()
    try loads.open()
    try finds.open()
  }

  /// The last one, which may write, brings the log into the database and removes it, if it can.
  private func close(_ state: inout State, isKnown: Bool) {
    state.isLogOnDisk = false
    state.isLogNamed = false
    copies.close()
    finds.close()
    loads.close()
    changes.close(mergingLog: isKnown)
  }
}
