internal import Glibc
package import KistCore
package import Logging
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A server that sends bytes to each client, and then closes the connection.
///
/// It reads nothing. kistd uses it for `cred.sock`, from which systemd loads the credentials of
/// units.
package struct ByteServer: Sendable {
  /// The answer to a client.
  package struct Answer: Sendable {
    /// The group of the client; `nil` if the group is not known for certain.
    ///
    /// kistd groups clients by their systemd unit.
    package var group: String?
    /// Returns the bytes.
    ///
    /// When the server stops, this closure is not cancelled until `grace` has passed.
    package var bytes: @Sendable () async -> Secret

    package init(group: String?, bytes: @escaping @Sendable () async -> Secret) {
      self.group = group
      self.bytes = bytes
    }
  }

  /// The maximum number of connections.
  ///
  /// At this limit, a new client evicts another one, or waits.
  package var maximumConnections = 64
  /// How long a client may take to read its bytes.
  package var deadline = Duration.seconds(30)
  /// How long the only client of a group may take to read if the server is full and another client
  /// waits.
  package var crowdedDeadline = Duration.seconds(2)
  /// How long a stopped server may continue, to answer the connections that it has accepted.
  package var grace = Duration.seconds(10)
  package var logger: Logger
  /// Returns the answer to a client; `nil` closes the connection without an answer.
  package var answer: @Sendable (Peer) -> Answer?

  package init(logger: Logger, answer: @escaping @Sendable (Peer) -> Answer?) {
    self.logger = logger
    self.answer = answer
  }

  /// Serves until the task is cancelled.
  ///
  /// Then it closes the socket, and answers the accepted connections within `grace`.
  ///
  /// Throws if the socket cannot listen.
  package func run(listeningOn descriptor: CInt) async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let result: Result<Void, any Error>
    do {
      let listener = try await ServerBootstrap(group: group)
        .serverChannelInitializer { $0.addAcceptPause() }
        .childChannelOption(.autoRead, value: false)
        // systemd shuts down its side as soon as it is connected.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        // The kernel keeps unread bytes until the client closes, even after kistd has closed. With a
        // small buffer, few bytes of a secret stay there.
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
    try? await group.shutDown()
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
              await sendAnswer(answer, over: channel, places)
              places.leave(channel)
            }
          }
        } catch is CancellationError {
          // `grace` has passed while the server was still accepting or waiting for a place.
          // Connections that still wait for an answer are closed.
        }
      }
    }
  }

  /// Sends an answer and closes the channel.
  ///
  /// It is not an error if the client has disconnected.
  private func sendAnswer(_ answer: Answer, over channel: any Channel, _ places: BytePlaces) async {
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

  /// Writes one part after another, so that kistd needs little memory for a client that does not
  /// read.
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

/// The connections that a `ByteServer` is answering.
///
/// Each has a place, and the number of places is limited. If no place is free, the server closes one
/// connection. It chooses among the clients without a group. If there are none, it chooses among the
/// group with the most connections, where the new client counts as a connection of its group. Among
/// these, it chooses the oldest connection to which it has begun to send. So a program with many
/// connections loses its own connections, not those of other groups. If no group has more than one
/// connection, the server chooses the oldest one whose client has had at least the time
/// `crowdedDeadline` for reading. So even if many groups hold all places, they delay a new client
/// only for that time.
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
  /// Wakes the waiting caller, which then tries again to take a place.
  private let (changes, change) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))

  init(_ limit: Int, _ crowdedDeadline: Duration, logger: Logger) {
    self.limit = limit
    self.crowdedDeadline = TimeAmount(crowdedDeadline)
    self.logger = logger
  }

  /// Waits for a free place, or evicts a client, and takes the place; returns `false` if the task is
  /// cancelled.
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

  /// Closes a connection whose client has not read all bytes in time, if it still has a place.
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

  /// Returns the index of the connection to evict for a new client of a group; `nil` if there is
  /// none.
  ///
  /// Clients without a group are evicted first. The only connection of a group is not evicted for a
  /// client of another group before `crowdedDeadline`: after an early close, systemd would use the
  /// bytes that it has received as the complete credential.
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
