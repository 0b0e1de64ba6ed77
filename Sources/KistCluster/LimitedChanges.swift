internal import KistCore
private import Synchronization

extension Cluster {
  /// Returns the cluster with a limit on the sequences of changes that are open at the same time.
  ///
  /// Each open sequence can use memory for commits that its caller has not read. At the limit, the next
  /// call throws `busy`.
  package func limitingChanges(to most: Int) -> Cluster {
    var cluster = self
    let places = Places(most)
    cluster.changes = { [changes] request throws(StorageError) in
      let place = try Place(in: places)
      let open = try await changes(request)
      return ClusterChanges(on: open.executor) { () throws(StorageError) in
        defer { extendLifetime(place) }
        return try await open.makeAsyncIterator().next()
      }
    }
    return cluster
  }
}

private final class Places: Sendable {
  private let free: Mutex<Int>

  init(_ count: Int) { free = Mutex(count) }

  func take() -> Bool {
    free.withLock { free in
      guard free > 0 else { return false }
      free -= 1
      return true
    }
  }

  func release() { free.withLock { $0 += 1 } }
}

/// The place of a sequence, which is free again once nothing refers to it.
private final class Place: Sendable {
  private let places: Places

  init(in places: Places) throws(StorageError) {
    guard places.take() else { throw .tooManySequences }
    self.places = places
  }

  deinit { places.release() }
}

extension StorageError {
  fileprivate static let tooManySequences = StorageError(
    .busy, "too many programs follow other generations or older changes at the same time",
    hint: "read the newest state, and follow the changes after it")
}
