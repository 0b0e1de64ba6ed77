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

/// Returns the change to report to watchers; `nil` where nothing was changed.
func told(of change: Change, _ answer: Change.Answer, in session: Session) -> CredentialChange? {
  switch (change, answer) {
  case (_, .success(.saved(let summary))): .saved(summary.key, summary.revision)
  case (.delete(let request), .success(.deleted(let sequence?))):
    .deleted(request.key, session.revision(of: sequence))
  case (_, .success(.deleted)), (_, .success(.keySlots)): nil
  case (_, .failure(let error)): error.outcome == .unknown ? .reset : nil
  }
}
