internal import Glibc
package import KistCore
package import Logging
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Answers each connection to a listening socket with bytes and closes it, without reading.
package struct ByteServer: Sendable {
  /// The answer to a client.
  package struct Answer: Sendable {
    /// The group whose places the client takes; `nil` for a client that proved nothing.
    package var group: String?
    /// Returns the bytes; this call is not cancelled before `grace` is over.
    package var bytes: @Sendable () async -> Secret

    package init(group: String?, bytes: @escaping @Sendable () async -> Secret) {
      self.group = group
      self.bytes = bytes
    }
  }

  /// The number of connections that are answered at once; a further client evicts one, or waits.
  package var maximumConnections = 64
  /// How long a client may take to read its bytes.
  package var deadline = Duration.seconds(30)
  /// How long clients may take when the server is stopped.
  package var grace = Duration.seconds(10)
  package var logger: Logger
  /// Decides on the answer to a client; `nil` closes the connection at once.
  package var answer: @Sendable (Peer) -> Answer?

  package init(logger: Logger, answer: @escaping @Sendable (Peer) -> Answer?) {
    self.logger = logger
    self.answer = answer
  }

  /// Serves until the task is cancelled, then answers the accepted connections within `grace`.
  ///
  /// It closes the socket at the end. Throws if the socket cannot listen.
  package func run(listeningOn descriptor: CInt) async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let result: Result<Void, any Error>
    do {
      let listener = try await ServerBootstrap(group: group)
        .childChannelOption(.autoRead, value: false)
        // systemd shuts down its side as soon as it is connected.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        // The buffer is small, because the kernel keeps unread bytes until the client closes.
        .childChannelOption(.socketOption(.so_sndbuf), value: 16 << 10)
        .bind(
          descriptor, serverBackPressureStrategy: .init(lowWatermark: 1, highWatermark: 1)
        ) { channel in
          channel.eventLoop.makeCompletedFuture { (channel: channel, peer: try channel.peer()) }
        }
      // A separate task, so that cancelling the caller cancels no answer.
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
    let places = BytePlaces(maximumConnections, logger: logger)
    try await withThrowingDiscardingTaskGroup { group in
      try await listener.executeThenClose { connections in
        do {
          for try await (channel, peer) in connections {
            guard let answer = answer(peer), await places.take(for: channel, peer, answer.group)
            else {
              channel.close(promise: nil)
              continue
            }
            group.addTask {
              await give(answer, over: channel, places)
              places.leave(channel)
            }
          }
        } catch is CancellationError {
          // The grace was over before the listener had closed. Connections not taken are dropped.
        }
      }
    }
  }

  /// Sends an answer and closes the channel; a client that has gone is not an error.
  private func give(_ answer: Answer, over channel: any Channel, _ places: BytePlaces) async {
    let secret = await answer.bytes()
    places.note(offeredTo: channel)
    let limit = channel.eventLoop.scheduleTask(in: TimeAmount(deadline)) {
      places.close(
        channel, because: "closed a connection whose client did not read for \(deadline)")
    }
    await withTaskCancellationHandler {
      try? await write(secret, to: channel)
    } onCancel: {
      channel.close(promise: nil)
    }
    limit.cancel()
    try? await channel.close()
  }

  /// Writes one part after another, so that clients that do not read take little memory.
  private func write(_ secret: Secret, to channel: any Channel) async throws {
    let size = 64 << 10
    for start in stride(from: 0, to: secret.count, by: size) {
      let end = min(start + size, secret.count)
      var buffer = channel.allocator.buffer(capacity: end - start)
      secret.withBytes { bytes in
        _ = unsafe buffer.writeBytes(bytes.extracting(start..<end).bytes)
      }
      defer { buffer.wipe() }
      try await channel.writeAndFlush(buffer)
    }
  }
}

/// The clients that a `ByteServer` is answering, up to a limit.
///
/// When all places are taken, the group with the most places loses its oldest client that does not
/// read. So a program that holds connections in one group takes places only from itself.
final class BytePlaces: Sendable {
  private struct Place {
    var channel: any Channel
    var peer: Peer
    var group: String?
    var isOffered = false
  }

  private let limit: Int
  private let logger: Logger
  private let gate = LogGate()
  private let places = Mutex<[Place]>([])
  /// Notifies the caller that waits for a place to try again.
  private let (changes, change) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))

  init(_ limit: Int, logger: Logger) {
    self.limit = limit
    self.logger = logger
  }

  /// Takes a place when one is free, for one caller at a time; `false` if the task is cancelled.
  func take(for channel: any Channel, _ peer: Peer, _ group: String?) async -> Bool {
    let place = Place(channel: channel, peer: peer, group: group)
    if hasTaken(place) { return true }
    for await _ in changes where hasTaken(place) { return true }
    return false
  }

  func note(offeredTo channel: any Channel) {
    places.withLock { places in
      if let index = places.firstIndex(where: { $0.channel === channel }) {
        places[index].isOffered = true
      }
    }
    change.yield()
  }

  func leave(_ channel: any Channel) {
    places.withLock { $0.removeAll { $0.channel === channel } }
    change.yield()
  }

  /// Closes the connection of a client that has not read all, if it still holds a place.
  func close(_ channel: any Channel, because reason: Logger.Message) {
    let place = places.withLock { places in
      places.firstIndex { $0.channel === channel }.map { places.remove(at: $0) }
    }
    if let place { close(place, because: reason) }
    change.yield()
  }

  private func hasTaken(_ place: Place) -> Bool {
    let (isTaken, evicted) = places.withLock { places -> (Bool, Place?) in
      var evicted: Place?
      if places.count >= limit {
        guard let index = evictable(among: places, for: place.group) else { return (false, nil) }
        evicted = places.remove(at: index)
      }
      places.append(place)
      return (true, evicted)
    }
    if let evicted {
      close(evicted, because: "closed a connection whose client did not read: there are too many")
    }
    return isTaken
  }

  /// Returns the client that loses its place to a client of a group, if there is one.
  ///
  /// A group with one place keeps it: a service manager that reads is soon done, and mistakes an
  /// early end of the stream for the end of a credential. Clients without a group lose theirs.
  private func evictable(among places: [Place], for group: String?) -> Int? {
    var counts = [group: 1]
    for place in places { counts[place.group, default: 0] += 1 }
    counts[nil]? = .max
    guard let most = places.compactMap({ counts[$0.group] }).max(), most > 1 else { return nil }
    return places.firstIndex { $0.isOffered && counts[$0.group] == most }
  }

  private func close(_ place: Place, because reason: Logger.Message) {
    place.channel.close(promise: nil)
    logger.warning(
      reason, through: gate, ["group": "\(place.group ?? "")", "pid": "\(place.peer.pid)"])
  }
}
