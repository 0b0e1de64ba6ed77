internal import KistCluster
internal import KistCore
internal import KistShared
internal import Synchronization

extension Replica {
  /// Keeps the copy up to date until the task is cancelled or the replica is closed.
  ///
  /// The cluster reports commits at once. The head is also confirmed every few seconds, because a
  /// cluster that is cut off reports nothing.
  func follow() async {
    await withTaskGroup { group in
      group.addTask { await self.confirmRegularly() }
      group.addTask { await self.listen() }
    }
  }

  private var isFollowing: Bool { !Task.isCancelled && !state.withLock(\.isClosed) }

  private func confirmRegularly() async {
    while isFollowing {
      try? await refresh()
      await options.sleep(options.confirmsEvery)
    }
  }

  private func listen() async {
    var failures = 0
    while isFollowing {
      do throws(StorageError) {
        try await refresh()
        let (generation, position) = state.withLock { ($0.known.keys.generation, $0.position) }
        guard let position else { continue }
        let changes = try await cluster.changes(
          ChangesRequest(generation: generation, after: position))
        for try await event in changes {
          if event == .compacted { break }
          try await refresh()
          failures = 0
        }
      } catch {}
      // The status has the reason of a failure.
      if isFollowing { await options.backOff(before: failures) }
      failures += 1
    }
  }
}
