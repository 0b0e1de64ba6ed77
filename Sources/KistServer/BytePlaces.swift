internal import KistCore
internal import Logging
internal import NIOCore
internal import Synchronization

/// The clients that a `ByteServer` is answering, up to a limit.
///
/// When all places are taken, the group with the most places loses its oldest client that does not
/// read. So a program that holds connections in one group takes places only from itself.
final class BytePlaces: Sendable {
  private struct Place {
    var channel: any Channel
    var peer: Peer
    var group: String?
    /// Whether the client has bytes to read.
    var isOffered = false
  }

  private let limit: Int
  private let logger: Logger
  private let gate = LogGate()
  /// The places in the order in which they were taken.
  private let places = Mutex<[Place]>([])
  /// Notifies the caller that waits for a place to try again.
  private let (changes, change) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))

  init(_ limit: Int, logger: Logger) {
    self.limit = limit
    self.logger = logger
  }

  /// Takes a place, waiting until one is free; one caller at a time.
  ///
  /// Returns `false` if the task is cancelled meanwhile.
  func take(for channel: any Channel, _ peer: Peer, _ group: String?) async -> Bool {
    let place = Place(channel: channel, peer: peer, group: group)
    if hasTaken(place) { return true }
    for await _ in changes where hasTaken(place) { return true }
    return false
  }

  /// Records that a client has bytes to read from now on.
  func note(offeredTo channel: any Channel) {
    places.withLock { places in
      if let index = places.firstIndex(where: { $0.channel === channel }) {
        places[index].isOffered = true
      }
    }
    change.yield()
  }

  /// Frees the place of a client that was answered.
  func leave(_ channel: any Channel) {
    places.withLock { $0.removeAll { $0.channel === channel } }
    change.yield()
  }

  /// Closes the connection of a client that has not read all of its bytes, if it still holds a
  /// place.
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
  /// A group with one place keeps it. A service manager that reads is soon done, and mistakes an
  /// early end of the stream for the end of a credential. Clients without a group can always be
  /// evicted.
  private func evictable(among places: [Place], for group: String?) -> Int? {
    var counts = [group: 1]
    for place in places { counts[place.group, default: 0] += 1 }
    counts[nil]? = .max
    guard let most = places.compactMap({ counts[$0.group] }).max(), most > 1 else { return nil }
    return places.firstIndex { $0.isOffered && counts[$0.group] == most }
  }

  private func close(_ place: Place, because reason: Logger.Message) {
    place.channel.close(promise: nil)
    guard let heldBack = gate.pass() else { return }
    logger.warning(
      reason,
      metadata: [
        "group": "\(place.group ?? "")", "pid": "\(place.peer.pid)", "unlogged": "\(heldBack)",
      ])
  }
}
