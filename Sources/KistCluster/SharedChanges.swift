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
        if let feed = feeds[request.generation], !feed.hasEnded {
          return (feed, feed.add(after: request.after))
        }
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
  struct State {
    /// The position after which all commits are in `recent`.
    var start: ClusterPosition
    var recent: [CommittedWrites] = []
    /// The number of commits that are no longer in `recent`.
    var dropped = 0
    /// The number of bytes of all records in `recent`.
    var size = 0
    /// What followed the last commit, once nothing more comes.
    var end: Result<ClusterEvent?, StorageError>?
    var wakes: [ObjectIdentifier: AsyncStream<Void>.Continuation] = [:]
  }

  /// The maximum number of commits to keep, and the maximum size of their records in bytes.
  private static let (mostCommits, mostBytes) = (256, 4 << 20)

  let state: Mutex<State>
  /// The sequence of the cluster, once it has begun.
  let begun: Task<Result<ClusterChanges, StorageError>, Never>
  private let reading = Mutex<Task<Void, Never>?>(nil)

  init(
    of request: ChangesRequest,
    from changes: @escaping @Sendable (ChangesRequest) async throws(StorageError) -> ClusterChanges
  ) {
    state = Mutex(State(start: request.after))
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
      let (wakes, continuation) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      let follower = Follower(of: self, after: position, from: state.dropped, wakes)
      state.wakes[ObjectIdentifier(follower)] = continuation
      return follower
    }
  }

  func remove(_ follower: ObjectIdentifier) {
    let isLast = state.withLock { state in
      state.wakes[follower] = nil
      guard state.wakes.isEmpty else { return false }
      state.end = state.end ?? .success(nil)
      state.recent = []
      return true
    }
    guard isLast else { return }
    begun.cancel()
    reading.withLock { $0?.cancel() }
  }

  private func read() async {
    var end = Result<ClusterEvent?, StorageError>.success(nil)
    do throws(StorageError) {
      for try await event in try await begun.value.get() {
        if case .commit(let writes) = event { add(writes) } else { end = .success(event) }
      }
    } catch { end = .failure(error) }
    state.withLock { state in
      state.end = state.end ?? end
      for wake in state.wakes.values { wake.yield() }
    }
  }

  private func add(_ writes: CommittedWrites) {
    state.withLock { state in
      guard state.end == nil else { return }
      state.recent.append(writes)
      state.size += writes.size
      while state.recent.count > Self.mostCommits || state.size > Self.mostBytes {
        let first = state.recent.removeFirst()
        state.size -= first.size
        state.dropped += 1
        state.start = first.position
      }
      for wake in state.wakes.values { wake.yield() }
    }
  }
}

/// A caller that follows a feed.
private final class Follower: Sendable {
  private let feed: Feed
  private let position: ClusterPosition
  private let wakes: AsyncStream<Void>
  /// The number of commits of the feed that are behind the follower; `nil` after the end.
  private let passed: Mutex<Int?>

  init(
    of feed: Feed, after position: ClusterPosition, from passed: Int, _ wakes: AsyncStream<Void>
  ) {
    (self.feed, self.position, self.wakes) = (feed, position, wakes)
    self.passed = Mutex(passed)
  }

  deinit { feed.remove(ObjectIdentifier(self)) }

  /// Waits for the next event; returns `nil` at the end, or when the task is cancelled.
  func next() async throws(StorageError) -> ClusterEvent? {
    var wakes = wakes.makeAsyncIterator()
    while true {
      if let event = try take() { return event }
      guard await wakes.next() != nil else { return nil }
    }
  }

  /// Returns the next event, or `nil` as the event at the end; returns `nil` if there is none yet.
  private func take() throws(StorageError) -> ClusterEvent?? {
    try passed.withLock { place throws(StorageError) in
      guard var passed = place else { return .some(nil) }
      return try feed.state.withLock { state throws(StorageError) in
        guard passed >= state.dropped else { throw .tooSlow }
        while passed < state.dropped + state.recent.count {
          let writes = state.recent[passed - state.dropped]
          passed += 1
          place = passed
          if writes.position > position { return .commit(writes) }
        }
        guard let end = state.end else { return nil }
        place = nil
        return .some(try end.get())
      }
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
