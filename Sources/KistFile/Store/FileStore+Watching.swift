internal import KistCore
private import Synchronization

extension FileStore {
  /// Begins to watch, even while the store is locked.
  func beginWatching(_ request: WatchRequest) throws(StorageError) -> CredentialChanges {
    try watchers.watch(request) { () throws(StorageError) in
      let session = try state.withLock { state throws(StorageError) -> Session? in
        switch state {
        case .unlocked(let session): return session
        case .locked: return nil
        case .closed: throw .closed
        }
      }
      return try session.map { session throws(StorageError) in
        try connections.read { database throws(StorageError) in
          session.revision(of: try database.header(session.keys).sequence)
        }
      }
    }
  }
}
