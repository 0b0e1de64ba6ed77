#if Etcd
  internal import GRPCCore
  internal import KistCluster
  internal import KistCore
  internal import SwiftProtobuf

  /// Begins to report the commits of a vault.
  ///
  /// One watch of etcd covers all keys of the vault, because two watches would report the writes of
  /// one commit at different times. `CommitAssembler` drops what the caller did not ask for.
  func watch(
    _ request: ChangesRequest, keys: Keys, nodes: Nodes
  ) async throws(StorageError) -> ClusterChanges {
    let clock = ContinuousClock()
    let end = clock.now + Nodes.deadline
    while true {
      do throws(StorageError) {
        return try await beginWatch(request, keys: keys, nodes: nodes)
      } catch {
        guard error.code == .unavailable, clock.now + Nodes.pause < end, !Task.isCancelled else {
          throw error
        }
        try? await Task.sleep(for: Nodes.pause)
      }
    }
  }

  /// Begins a watch at the node in use; after a failure, the next node is in use.
  private func beginWatch(
    _ request: ChangesRequest, keys: Keys, nodes: Nodes
  ) async throws(StorageError) -> ClusterChanges {
    guard let after = request.after.revision else {
      throw .refused("the position is not one of etcd's")
    }
    var create = Etcdserverpb_WatchRequest()
    create.createRequest.startRevision = after + 1
    create.createRequest.fragment = true
    (create.createRequest.key, create.createRequest.rangeEnd) = keys.all

    let client: NodeClient
    do throws(CallFailure) { client = try nodes.client() } catch { throw error.error }
    let begun = OneResult<Void>()
    let (events, eventsEnd) = AsyncThrowingStream.makeStream(of: ClusterEvent.self)
    let (permits, permitsEnd) = AsyncStream.makeStream(of: Void.self)
    let work = Task(executorPreference: nodes.executor) { [create] in
      let assembler = CommitAssembler(keys: keys, request: request)
      do {
        try await client.stream(Etcdserverpb_Watch.Method.Watch.descriptor, create) {
          (response: Etcdserverpb_WatchResponse) in
          begun.set(.success(()))
          let ready = try assembler.add(response)
          for event in ready { eventsEnd.yield(event) }
          // The next reply is read when the caller has taken these events.
          for _ in ready {
            for await _ in permits { break }
          }
          if response.canceled { throw CancellationError() }
        }
        throw RPCError(code: .unavailable, message: "the watch ended")
      } catch {
        if assembler.isCompacted { eventsEnd.finish() }
        let failure = CallFailure(error, wasSent: true)
        // A cancelled watch ended because its caller left, not because of a fault of the node.
        if !Task.isCancelled, failure.concernsNode, !assembler.isCompacted {
          nodes.advance(from: client, because: failure)
        }
        begun.set(.failure(failure))
        eventsEnd.finish(throwing: failure.error)
      }
    }
    eventsEnd.onTermination = { _ in
      permitsEnd.finish()
      work.cancel()
    }
    do {
      try await within(Nodes.attempt, thenIfSet: Flag(), .zero, on: nodes.executor) {
        try await begun.wait()
      }
    } catch {
      work.cancel()
      let failure = error as? CallFailure ?? CallFailure(error, wasSent: true)
      if failure.concernsNode, !Task.isCancelled { nodes.advance(from: client, because: failure) }
      throw failure.error
    }
    return ClusterChanges(on: nodes.executor) { () throws(StorageError) in
      do {
        var iterator = events.makeAsyncIterator()
        let event = try await iterator.next()
        permitsEnd.yield()
        return event
      } catch { throw error as? StorageError ?? CallFailure(error, wasSent: true).error }
    }
  }
#endif
