internal import Glibc
package import KistCore
internal import NIOCore
internal import NIOPosix

/// Answers each connection to a listening socket with bytes, and closes it; nothing is read.
package struct ByteServer: Sendable {
  /// The connections that are answered at once; one more waits for its turn.
  package var maximumConnections: Int
  /// How long clients may take to read their bytes when the server is told to stop; before that, as
  /// long as they like, since one that is cut off cannot tell a part from the whole.
  package var grace: Duration
  /// The bytes for a client; not cancelled before `grace` is over.
  package var give: @Sendable (Peer) async -> Secret

  package init(
    maximumConnections: Int = 64, grace: Duration = .seconds(10),
    give: @escaping @Sendable (Peer) async -> Secret
  ) {
    self.maximumConnections = maximumConnections
    self.grace = grace
    self.give = give
  }

  /// Serves until the task is cancelled; then accepts no more, and returns when those are answered
  /// that were accepted, or after `grace`.
  ///
  /// The socket is closed at the end. Throws when it cannot be listened on.
  package func run(listeningOn descriptor: CInt) async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let result: Result<Void, any Error>
    do {
      let listener = try await ServerBootstrap(group: group)
        .childChannelOption(.autoRead, value: false)
        // systemd shuts down its side as soon as it is connected.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .bind(
          descriptor, serverBackPressureStrategy: .init(lowWatermark: 1, highWatermark: 1)
        ) { channel in
          channel.eventLoop.makeCompletedFuture { (channel: channel, peer: try channel.peer()) }
        }
      // A task of its own, so that cancelling the caller cancels no answer.
      let answering = Task { try await answerConnections(to: listener) }
      result = .success(
        try await withTaskCancellationHandler {
          try await answering.value
        } onCancel: {
          listener.channel.close(promise: nil)
          group.next().scheduleTask(in: TimeAmount(grace)) { answering.cancel() }
        })
    } catch { result = .failure(error) }
    try? await group.shutdownGracefully()
    try result.get()
  }

  private func answerConnections(
    to listener: NIOAsyncChannel<(channel: any Channel, peer: Peer), Never>
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      var room = maximumConnections
      try await listener.executeThenClose { connections in
        do {
          for try await (channel, peer) in connections {
            if room == 0 { try await group.next() } else { room -= 1 }
            group.addTask { await answer(channel, peer) }
          }
        } catch is CancellationError {
          // The grace was over before the listener had closed: who was not taken up by then is hung up on.
        }
      }
    }
  }

  /// A client that has gone is not an error: what it asked for is asked for again, or not wanted.
  private func answer(_ channel: any Channel, _ peer: Peer) async {
    let secret = await give(peer)
    var buffer = channel.allocator.buffer(capacity: secret.count)
    secret.withBytes { _ = unsafe buffer.writeBytes($0.bytes) }
    await withTaskCancellationHandler {
      try? await channel.writeAndFlush(buffer)
    } onCancel: {
      channel.close(promise: nil)
    }
    buffer.wipe()
    try? await channel.close()
  }
}
