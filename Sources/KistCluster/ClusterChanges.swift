package import KistCore

/// A request to report the commits of a cluster.
package struct ChangesRequest: Hashable, Sendable {
  /// The generation whose records are reported, without the entries of its log.
  ///
  /// Rosters are reported, too. The last entry that a commit writes has the bytes of the head. A caller
  /// that needs others reads them.
  package var generation: UInt32
  /// The position after which commits are reported.
  package var after: ClusterPosition

  package init(generation: UInt32, after: ClusterPosition) {
    (self.generation, self.after) = (generation, after)
  }

  /// Returns whether the caller asked for changes of this record.
  package func matches(_ name: RecordName) -> Bool {
    switch name {
    case .roster: true
    case .logEntry, .seen: false
    case .announcement, .head, .row: name.generation == generation
    }
  }
}

/// What a cluster reports.
package enum ClusterEvent: Hashable, Sendable {
  /// The writes of one commit, without those of other generations and the entries of the log.
  case commit(CommittedWrites)
  /// The cluster has discarded commits that were not reported yet; nothing follows.
  ///
  /// Read the log of the generation, or list its rows again.
  case compacted
}

/// The writes of one commit, as they are reported.
package struct CommittedWrites: Hashable, Sendable {
  /// The position of the commit.
  package var position: ClusterPosition
  /// The records that were written.
  ///
  /// A reported commit has no entries of the log.
  package var puts: [RecordName: [UInt8]]
  /// The records that were deleted.
  package var deletes: Set<RecordName>

  package init(
    position: ClusterPosition, puts: [RecordName: [UInt8]], deletes: Set<RecordName>
  ) {
    (self.position, self.puts, self.deletes) = (position, puts, deletes)
  }
}

/// The commits of a cluster after a position, as a sequence to iterate once.
///
/// It ends with its task, after `compacted`, or with an error: `unavailable` if the cluster cannot
/// be reached any longer. A caller then begins again after the last position that it has received.
package struct ClusterChanges: AsyncSequence, Sendable {
  /// One event.
  package typealias Element = ClusterEvent
  /// The error that ends the sequence.
  package typealias Failure = StorageError

  /// The executor on which the events arrive; `nil` for no particular one.
  ///
  /// A task that prefers it learns each event without a switch to another thread.
  package let executor: (any TaskExecutor)?
  private let takeNext: @Sendable () async throws(StorageError) -> ClusterEvent?

  /// Makes a sequence from a function that waits for the next event.
  ///
  /// The function returns `nil` when the sequence has ended or the task is cancelled.
  package init(
    on executor: (any TaskExecutor)? = nil,
    next: @escaping @Sendable () async throws(StorageError) -> ClusterEvent?
  ) {
    self.executor = executor
    takeNext = next
  }

  /// Returns an iterator for one task.
  package func makeAsyncIterator() -> Iterator { Iterator(takeNext: takeNext) }

  /// An iterator that waits for each event.
  package struct Iterator: AsyncIteratorProtocol {
    fileprivate let takeNext: @Sendable () async throws(StorageError) -> ClusterEvent?

    /// Waits for the next event; returns `nil` when the sequence has ended or the task is cancelled.
    package func next() async throws(StorageError) -> ClusterEvent? { try await takeNext() }
  }
}
