internal import KistCore
private import Synchronization

/// The store's connections, one for each kind of use, so that none waits for another.
final class Connections: Sendable {
  /// For changes, on the writer's queue.
  let changes: Connection
  /// For loads, on the thread of whoever asks.
  let loads: Connection
  /// For finds, on their own queue.
  let finds: Connection

  private let isShut = Mutex(false)

  init(path: String) {
    changes = Connection(path: path, readonly: false, cacheKibibytes: 2048)
    loads = Connection(path: path, readonly: true, cacheKibibytes: 2048)
    finds = Connection(path: path, readonly: true, cacheKibibytes: 512)
  }

  /// Opens those that are not open.
  func open() throws(StorageError) {
    try isShut.withLock { isShut throws(StorageError) in
      if isShut { throw .closed }
      try changes.open()
      try loads.open()
      try finds.open()
    }
  }

  /// Closes all for good: when the store is given up, nothing may open it again.
  func shut() {
    isShut.withLock { isShut in
      isShut = true
      close()
    }
  }

  /// Closes all; the last one, which may write, brings the log into the database and removes it.
  func close() {
    finds.close()
    loads.close()
    changes.close()
  }
}
