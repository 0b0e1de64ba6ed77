#if Etcd
  internal import KistCluster
  internal import KistCore
  private import Synchronization

  /// Joins the events of a watch of etcd to commits.
  ///
  /// etcd reports the events of one transaction together, but may split a large report into fragments.
  final class CommitAssembler: Sendable {
    private struct State {
      /// The commit whose events may not be complete.
      var partial: CommittedWrites?
      var isCompacted = false
    }

    private let keys: Keys
    private let request: ChangesRequest
    private let state = Mutex(State())

    init(keys: Keys, request: ChangesRequest) { (self.keys, self.request) = (keys, request) }

    /// Whether etcd has discarded commits that were not reported.
    var isCompacted: Bool { state.withLock(\.isCompacted) }

    /// Adds a report; returns the commits that are now complete.
    func add(_ response: Etcdserverpb_WatchResponse) throws(StorageError) -> [ClusterEvent] {
      if response.compactRevision > 0 {
        state.withLock { $0.isCompacted = true }
        return [.compacted]
      }
      guard !response.canceled else {
        throw StorageError(
          .unavailable, "etcd ended the watch", hint: "see the log of kist-etcd")
      }
      return state.withLock { state in
        var complete: [ClusterEvent] = []
        for event in response.events {
          let position = ClusterPosition(revision: event.kv.modRevision)
          if let partial = state.partial, partial.position != position {
            complete.append(.commit(partial))
            state.partial = nil
          }
          guard let name = keys.name(of: event.kv.key), request.matches(name) else { continue }
          var writes = state.partial ?? CommittedWrites(position: position, puts: [:], deletes: [])
          if event.type == .delete {
            writes.deletes.insert(name)
          } else {
            writes.puts[name] = Array(event.kv.value)
          }
          state.partial = writes
        }
        if !response.fragment, let partial = state.partial {
          complete.append(.commit(partial))
          state.partial = nil
        }
        return complete
      }
    }
  }
#endif
