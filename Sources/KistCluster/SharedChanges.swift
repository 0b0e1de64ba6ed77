internal import KistCore
private import Synchronization

extension Cluster {
  /// Returns the cluster with one sequence of changes for all callers that follow a generation.
  ///
  /// So the database sends each commit once to an adapter that serves several machines. A caller that
  /// asks for older changes gets a sequence of its own. A caller that falls far behind the
  /// others gets `unavailable`, and can begin again after its last position.
  package func sharingChanges() -> Cluster {
    var cluster = self
    let feeds = Mutex<[UInt32: Feed]>([:])
    cluster.changes = { [changes] request throws(StorageError) in
      let found = feeds.withLock { feeds -> (feed: Feed, follower: Follower?) in
        // Feeds that have ended would stay in memory, one for each generation.
        feeds = feeds.filter { !$1.hasEnded }
        if let feed = feeds[request.generation] { return (feed, feed.add(after: request.after)) }
        let feed = Feed(of: request, from: changes)
        feeds[request.generation] = feed
        return (feed, feed.add(after: request.after))
      }
      guard let follower = found.follower else { return try await changes(request) }
      _ = try await found.feed.begun.value.get()
      return ClusterChanges { () throws(StorageError) in try await follower.next() }
    }
    return cluster
  }
}

/// The changes of one generation, and the callers that follow them.
private final class Feed: Sendable {
  private struct Reader {
    /// The position after which the caller wants commits.
    let position: ClusterPosition
    let wake: AsyncStream<Void>.Continuation
    /// The number of commits that the caller has passed.
    var passed: Int
    var hasEnded = false
  }

  private struct State {
    /// The position after which all commits are in `recent`.
    var start: ClusterPosition
    var recent: [CommittedWrites] = []
    /// The number of commits that are no longer in `recent`.
    var dropped = 0
    /// The number of bytes of all records in `recent`.
    var size = 0
    /// What followed the last commit, once nothing more comes.
    var end: Result<ClusterEvent?, StorageError>?
    var readers: [ObjectIdentifier: Reader] = [:]

    var isFull: Bool { recent.count >= Feed.mostCommits || size >= Feed.mostBytes }
  }

  /// The number of commits to keep, and the size of their records in bytes; the last one may exceed it.
  private static let (mostCommits, mostBytes) = (256, 4 << 20)

  /// The sequence of the cluster, once it has begun.
  let begun: Task<Result<ClusterChanges, StorageError>, Never>
  private let state: Mutex<State>
  private let reading = Mutex<Task<Void, Never>?>(nil)
  /// Yields when a caller has passed a commit.
  private let space: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)

  init(
    of request: ChangesRequest,
    from changes: @escaping @Sendable (ChangesRequest) async throws(StorageError) -> ClusterChanges
  ) {
    state = Mutex(State(start: request.after))
    space = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    begun = Task {
      do throws(StorageError) { return .success(try await changes(request)) } catch {
        return .failure(error)
      }
    }
    reading.withLock { $0 = Task { await self.read() } }
  }

  var hasEnded: Bool { state.withLock { $0.end != nil } }

  /// Adds a follower; returns `nil` if commits after its position are no longer kept.
  func add(after position: ClusterPosition) -> Follower? {
    state.withLock { state in
      guard position >= state.start else { return nil }
      let (wakes, wake) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      let follower = Follower(of: self, wakes)
      state.readers[ObjectIdentifier(follower)] = Reader(
        position: position, wake: wake, passed: state.dropped)
      return follower
    }
  }

  func remove(_ follower: ObjectIdentifier) {
    let isLast = state.withLock { state in
      state.readers[follower] = nil
      guard state.readers.isEmpty else { return false }
      state.end = state.end ?? .success(nil)
      (state.recent, state.size) = ([], 0)
      return true
    }
    guard isLast else { return }
    begun.cancel()
    reading.withLock { $0?.cancel() }
  }

  /// Returns the next event, or `nil` as the event at the end; returns `nil` if there is none yet.
  func take(_ follower: ObjectIdentifier) throws(StorageError) -> ClusterEvent?? {
    defer { space.continuation.yield() }
    return try state.withLock { state throws(StorageError) in
      guard var reader = state.readers[follower], !reader.hasEnded else { return .some(nil) }
      defer { state.readers[follower] = reader }
      guard reader.passed >= state.dropped else { throw .tooSlow }
      while reader.passed < state.dropped + state.recent.count {
        let writes = state.recent[reader.passed - state.dropped]
        reader.passed += 1
        if writes.position > reader.position { return .commit(writes) }
      }
      guard let end = state.end else { return nil }
      reader.hasEnded = true
      return .some(try end.get())
    }
  }

  private func read() async {
    var end = Result<ClusterEvent?, StorageError>.success(nil)
    do throws(StorageError) {
      let changes = try await begun.value.get()
      try await withTaskExecutorPreference(changes.executor) { () throws(StorageError) in
        for try await event in changes {
          guard case .commit(let writes) = event else {
            end = .success(event)
            break
          }
          await makeSpace()
          add(writes)
        }
      }
    } catch { end = .failure(error) }
    state.withLock { state in
      state.end = state.end ?? end
      for reader in state.readers.values { reader.wake.yield() }
    }
  }

  /// Drops the oldest commits; waits until at least one follower has passed them.
  private func makeSpace() async {
    var wakes = space.stream.makeAsyncIterator()
    while true {
      let hasSpace = state.withLock { state in
        let fastest = state.readers.values.map(\.passed).max() ?? .max
        while state.isFull, fastest > state.dropped {
          let first = state.recent.removeFirst()
          state.size -= first.size
          state.dropped += 1
          state.start = first.position
        }
        return !state.isFull
      }
      guard !hasSpace, await wakes.next() != nil else { return }
    }
  }

  private func add(_ writes: CommittedWrites) {
    state.withLock { state in
      guard state.end == nil else { return }
      state.recent.append(writes)
      state.size += writes.size
      for reader in state.readers.values { reader.wake.yield() }
    }
  }
}

/// A caller that follows a feed.
private final class Follower: Sendable {
  private let feed: Feed
  private let wakes: AsyncStream<Void>

  init(of feed: Feed, _ wakes: AsyncStream<Void>) { (self.feed, self.wakes) = (feed, wakes) }

  deinit { feed.remove(ObjectIdentifier(self)) }

  /// Waits for the next event; returns `nil` at the end, or when the task is cancelled.
  func next() async throws(StorageError) -> ClusterEvent? {
    var wakes = wakes.makeAsyncIterator()
    while true {
      if let event = try feed.take(ObjectIdentifier(self)) { return event }
      guard await wakes.next() != nil else { return nil }
    }
  }
}

extension CommittedWrites {
  /// The number of bytes of all records.
  fileprivate var size: Int { puts.values.reduce(0) { $0 + $1.count } }
}

extension StorageError {
  fileprivate static let tooSlow = StorageError(
    .unavailable, "the changes of the cluster came faster than they were read")
}
