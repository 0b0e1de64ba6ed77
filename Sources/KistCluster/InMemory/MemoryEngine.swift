internal import KistCore
private import Synchronization

extension Cluster {
  /// Opens a cluster that keeps its records in memory as long as it lives, for tests.
  ///
  /// It keeps every promise of `Cluster`.
  package static func inMemory() -> Cluster { MemoryEngine().cluster }
}

/// A database in memory with one vault, and controls that a real database also has.
///
/// Two machines share a vault if they use the same engine.
package final class MemoryEngine: Sendable {
  fileprivate let state: Mutex<MemoryHistory>

  package init() { state = Mutex(MemoryHistory()) }

  private init(_ history: MemoryHistory) { state = Mutex(history) }

  /// The cluster of this engine.
  package var cluster: Cluster {
    Cluster(
      head: { generation in
        self.state.withLock { history in
          HeadReading(
            head: history.value(of: .head(generation: generation)), position: history.last)
        }
      },
      list: { request in self.state.withLock { $0.list(request) } },
      records: { names throws(StorageError) in
        try self.state.withLock { history throws(StorageError) in try history.records(names) }
      },
      commit: { commit in self.make(commit) },
      changes: { request in
        let watch = MemoryWatch(of: self, request)
        return ClusterChanges { await watch.next() }
      }
    ).enforcingLimits()
  }

  /// The position of the last commit.
  package var position: ClusterPosition { state.withLock(\.last) }

  /// Discards the history up to a position; the records at the last position stay.
  package func compact(upTo position: ClusterPosition) {
    state.withLock { $0.compact(upTo: position) }
  }

  /// Returns another engine with the same history up to now.
  ///
  /// From then on, each engine has its own history. A machine on one of them does not see the changes
  /// of the other.
  package func forked() -> MemoryEngine {
    MemoryEngine(state.withLock { $0.withoutWaiting() })
  }

  /// Restores the records and the position of an earlier moment, as from a snapshot.
  ///
  /// A watcher that has received later commits does not notice. It receives new commits only when
  /// their positions exceed those.
  package func rollBack(to position: ClusterPosition) {
    state.withLock { $0.rollBack(to: position) }
  }

  private func make(_ commit: Commit) -> CommitReply {
    let (reply, waiting) = state.withLock { history in (history.make(commit), history.takeWaiting())
    }
    for waiting in waiting { waiting.resume() }
    return reply
  }
}

/// A watcher of an engine, which remembers the last position that it has reported.
private final class MemoryWatch: Sendable {
  private let engine: MemoryEngine
  private let request: ChangesRequest
  private let position: Mutex<ClusterPosition?>

  init(of engine: MemoryEngine, _ request: ChangesRequest) {
    (self.engine, self.request) = (engine, request)
    position = Mutex(request.after)
  }

  /// Waits for the next event; returns `nil` after `compacted`, or when the task is cancelled.
  func next() async -> ClusterEvent? {
    while !Task.isCancelled {
      guard let after = position.withLock(\.self) else { return nil }
      let (event, reached) = engine.state.withLock { $0.event(after: after, for: request) }
      position.withLock { $0 = event == .compacted ? nil : reached }
      if let event { return event }
      await engine.waitForCommit(after: reached)
    }
    return nil
  }
}

extension MemoryEngine {
  /// Waits until there is a commit after a position, or until the task is cancelled.
  fileprivate func waitForCommit(after position: ClusterPosition) async {
    let number = state.withLock { $0.numberWait() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = state.withLock { history in
          // A task is marked as cancelled before its cancellation handler runs.
          guard history.last <= position, !Task.isCancelled else { return false }
          history.waiting[number] = continuation
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
  }
}
