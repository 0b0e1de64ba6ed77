internal import KistCore
internal import Synchronization

extension Connections {
  /// Calls the body with the store as it is at one moment; waits while another such call runs.
  func snapshot(_ body: (Database) throws(StorageError) -> Void) throws(StorageError) {
    try snapshots.withLock { _ throws(StorageError) in try readSnapshot(body) }
  }

  /// Calls the body as `snapshot` does; returns `false` at once if another such call runs.
  func snapshotIfFree(
    _ body: (Database) throws(StorageError) -> Void
  ) throws(StorageError) -> Bool {
    try snapshots.withLockIfAvailable { _ throws(StorageError) in
      try readSnapshot(body)
      return true
    } ?? false
  }
}
