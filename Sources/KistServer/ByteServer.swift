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
    /// The client's group (kistd uses the systemd unit); `nil` if it is not proven to be in one.
    package var group: String?
    /// Returns the bytes; it is not cancelled before `grace` is over.
    package var bytes: @Sendable () async -> Secret

    package init(group: String?, bytes: @escaping @Sendable () async -> Secret) {
      self.group = group
      self.bytes = bytes
    }
  }

  /// The maximum number of connections; a further client evicts one, or waits.
  package var maximumConnections = 64
  /// How long a client may take to read its bytes.
  package var deadline = Duration.seconds(30)
  /// How long it may take while another client waits for a place.
  package var crowdedDeadline = Duration.seconds(2)
  /// How long the server may continue after it is stopped, to answer the accepted connections.
  package var grace = Duration.seconds(10)
  package var logger: Logger
  /// Returns the answer to a client; `nil` closes the connection without an answer.
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
    let places = BytePlaces(maximumConnections, crowdedDeadline, logger: logger)
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
          // `grace` ended before the listener had closed; the connections without a place end.
        }
      }
    }
  }

  /// Sends an answer and closes the channel; a client that has gone is not an error.
  private func give(_ answer: Answer, over channel: any Channel, _ places: BytePlaces) async {
    let secret = await answer.bytes()
    places.markAsSending(channel)
    let limit = channel.eventLoop.scheduleTask(in: TimeAmount(deadline)) {
      places.close(
        channel, because: "closed a connection whose client did not read for \(deadline)")
    }
    let crowdedLimit = channel.eventLoop.scheduleTask(in: TimeAmount(crowdedDeadline)) {
      places.notifyWaitingCaller()
    }
    await withTaskCancellationHandler {
      try? await write(secret, to: channel)
    } onCancel: {
      channel.close(promise: nil)
    }
    limit.cancel()
    crowdedLimit.cancel()
    try? await channel.close()
  }

  /// Writes one part after another, so that clients that do not read use little memory.
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
/// At the limit, the server closes the oldest connection that does not read, in the group with the
/// most connections. So a program that holds many connections evicts only clients of its own group.
/// If each group has one connection, the server closes the oldest one that has had
/// `crowdedDeadline` to read. So programs in many groups delay a client only for that time.
final class BytePlaces: Sendable {
  private struct Place {
    var channel: any Channel
    var peer: Peer
    var group: String?
    /// When the server began to send.
    var sendingSince: NIODeadline?
  }

  private let limit: Int
  private let crowdedDeadline: TimeAmount
  private let logger: Logger
  private let gate = LogGate()
  private let places = Mutex<[Place]>([])
  /// Notifies the waiting caller, which then tries again to take a place.
  private let (changes, change) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))

  init(_ limit: Int, _ crowdedDeadline: Duration, logger: Logger) {
    self.limit = limit
    self.crowdedDeadline = TimeAmount(crowdedDeadline)
    self.logger = logger
  }

  /// Waits for a free place and takes it; returns `false` if the task is cancelled.
  ///
  /// Only one caller may wait at a time.
  func take(for channel: any Channel, _ peer: Peer, _ group: String?) async -> Bool {
    let place = Place(channel: channel, peer: peer, group: group)
    if tryToTake(place) { return true }
    for await _ in changes where tryToTake(place) { return true }
    return false
  }

  func markAsSending(_ channel: any Channel) {
    places.withLock { places in
      if let index = places.firstIndex(where: { $0.channel === channel }) {
        places[index].sendingSince = .now()
      }
    }
    notifyWaitingCaller()
  }

  func notifyWaitingCaller() { change.yield() }

  func leave(_ channel: any Channel) {
    places.withLock { $0.removeAll { $0.channel === channel } }
    notifyWaitingCaller()
  }

  /// Closes the connection of a client that has not read all its bytes, if it still has a place.
  func close(_ channel: any Channel, because reason: Logger.Message) {
    let place = places.withLock { places in
      places.firstIndex { $0.channel === channel }.map { places.remove(at: $0) }
    }
    if let place { close(place, because: reason) }
    notifyWaitingCaller()
  }

  private func tryToTake(_ place: Place) -> Bool {
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

  /// Returns the index of the connection to evict for a client of a group; `nil` if there is none.
  ///
  /// A group with only one place keeps it for `crowdedDeadline`, because a service manager takes an
  /// early end of the stream for the end of the credential. Clients without a group are evicted
  /// first.
  private func evictable(among places: [Place], for group: String?) -> Int? {
    var counts = [group: 1]
    for place in places { counts[place.group, default: 0] += 1 }
    counts[nil]? = .max
    guard let most = places.compactMap({ counts[$0.group] }).max() else { return nil }
    let latest = most > 1 ? NIODeadline.now() : .now() - crowdedDeadline
    return places.firstIndex { place in
      counts[place.group] == most && place.sendingSince.map { $0 <= latest } ?? false
    }
  }

  private func close(_ place: Place, because reason: Logger.Message) {
    place.channel.close(promise: nil)
    logger.warning(
      reason, through: gate, ["group": "\(place.group ?? "")", "pid": "\(place.peer.pid)"])
  }
}
