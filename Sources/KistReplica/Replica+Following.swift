internal import KistCluster
internal import KistCore
internal import KistShared
internal import KistVault
internal import Synchronization

extension Replica {
  /// Keeps the copy up to date until the task is cancelled or the replica is closed.
  ///
  /// The cluster reports commits at once. The head is also confirmed every few seconds, because a
  /// cluster that is cut off reports nothing. It ends when the replica is closed.
  func follow() async {
    await withTaskGroup { group in
      group.addTask { await self.confirmRegularly() }
      group.addTask { await self.listen() }
      group.addTask { await self.prepareGenerations() }
      group.addTask { await self.writeRegularly() }
      // One of them ends first when the replica is closed, while another may wait for the cluster.
      await group.next()
      group.cancelAll()
    }
  }

  private var isFollowing: Bool { !Task.isCancelled && !state.withLock(\.isClosing) }

  private func confirmRegularly() async {
    while isFollowing {
      do throws(StorageError) {
        try await refresh()
        options.afterConfirmation(nil)
        await writeBeacon()
      } catch {
        if isFollowing, error != .newGeneration { options.afterConfirmation(error) }
        // The disk may have space again, although the cluster does not answer.
        try? await copy.retryFlush()
      }
      await options.sleep(options.confirmsEvery)
    }
  }

  private func listen() async {
    var failures = 0
    while isFollowing {
      do throws(StorageError) {
        try await refresh()
        let (generation, position) = state.withLock { ($0.known.keys.generation, $0.position) }
        // A refresh that succeeds has set the position.
        guard let position else { throw .internal("the position of the cluster is not known") }
        let changes = try await cluster.changes(
          ChangesRequest(generation: generation, after: position))
        try await withTaskExecutorPreference(changes.executor) { () throws(StorageError) in
          var last = position
          for try await event in changes {
            guard case .commit(let writes) = event else { break }
            // So that a cluster cannot repeat commits for ever.
            guard writes.position > last else { throw .wrongAnswer }
            last = writes.position
            try await learn(writes)
            failures = 0
          }
        }
      } catch {}
      // The status has the reason if the head cannot be confirmed, either.
      if isFollowing { await options.backOff(before: failures) }
      failures += 1
    }
  }

  /// Applies a reported commit; reads the changes instead if it does not follow the copy.
  private func learn(_ writes: CommittedWrites) async throws(StorageError) {
    try await turn.take { () throws(StorageError) in
      if (try? await apply(writes)) == true { return }
      let before = try known().headRecord
      try await catchUp()
      // So that a cluster cannot report for ever what changes nothing.
      guard try known().headRecord != before else { throw .wrongAnswer }
    }
  }

  /// Writes the changes that other machines made a moment ago, many at once.
  private func writeRegularly() async {
    for await _ in changesToWrite.stream {
      // A random part of the time, so that machines that share a disk do not write at the same moment.
      await options.sleep(options.writesAfter * (1 + Int(options.random(1)[0])) / 256)
      // Before the turn, which a confirmation may have while it waits for the cluster. After a failure, the next
      // confirmation tries again, and the status has the reason.
      try? await copy.flush()
      try? await turn.take { () throws(StorageError) in
        try await copy.flush()
        writeNoteIfDue()
      }
    }
  }
}
