public import KistCore
private import Synchronization

extension WatchCredentials {
  /// Watches again whenever a watch is lost, as at a new start of kistd; what may have been missed
  /// meanwhile is told as a `reset`.
  ///
  /// That is tried again 100 ms after the loss, and then after twice as long each time, up to 10 seconds,
  /// for as long as it fails in the same way: there is no kistd, it has no room, or does not answer. The
  /// first watch is begun once.
  ///
  /// - Parameters:
  ///   - sleep: waits before each try; throws where the task is cancelled.
  ///   - whenLost: told of each loss, and not of the tries that fail after it.
  public func reconnecting(
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    whenLost: @escaping @Sendable (StorageError) -> Void = { _ in }
  ) -> WatchCredentials {
    WatchCredentials { request throws(StorageError) in
      let first = try await begin(request)
      let watch = ReconnectingWatch(
        first, begin: { () throws(StorageError) in try await begin(request) }, sleep: sleep,
        whenLost: whenLost)
      return CredentialChanges(position: first.position, next: watch.next)
    }
  }
}

private final class ReconnectingWatch: Sendable {
  private struct State {
    var changes: CredentialChanges
    /// The mark of the latest change that was told; `nil` where something may have come after it.
    var latest: Revision?
    var backoff = Backoff()
  }

  private let state: Mutex<State>
  private let begin: @Sendable () async throws(StorageError) -> CredentialChanges
  private let sleep: @Sendable (Duration) async throws -> Void
  private let whenLost: @Sendable (StorageError) -> Void

  init(
    _ first: CredentialChanges,
    begin: @escaping @Sendable () async throws(StorageError) -> CredentialChanges,
    sleep: @escaping @Sendable (Duration) async throws -> Void,
    whenLost: @escaping @Sendable (StorageError) -> Void
  ) {
    state = Mutex(State(changes: first, latest: first.position))
    self.begin = begin
    self.sleep = sleep
    self.whenLost = whenLost
  }

  func next() async throws(StorageError) -> CredentialChange? {
    while true {
      let changes = state.withLock(\.changes)
      do throws(StorageError) {
        guard let change = try await changes.makeAsyncIterator().next() else { return nil }
        state.withLock { $0.latest = change.revision }
        return change
      } catch {
        guard error.mayPass else { throw error }
        whenLost(error)
      }
      guard let hasMissed = try await watchAgain() else { return nil }
      if hasMissed { return .reset }
    }
  }

  /// Whether something may have been missed meanwhile; `nil` where the task is cancelled.
  private func watchAgain() async throws(StorageError) -> Bool? {
    while true {
      do { try await sleep(state.withLock { $0.backoff.next() }) } catch { return nil }
      do throws(StorageError) {
        let changes = try await begin()
        return state.withLock { state in
          defer { state.latest = changes.position }
          state.changes = changes
          return changes.position == nil || changes.position != state.latest
        }
      } catch {
        guard error.mayPass else { throw error }
      }
    }
  }
}

/// How long to wait before each try.
private struct Backoff {
  private static let shortest = Duration.milliseconds(100)
  private static let longest = Duration.seconds(10)

  private var latest = shortest / 2
  private var latestTry = ContinuousClock.now

  /// Twice as long as the time before, unless what was made then lasted longer than any wait.
  mutating func next() -> Duration {
    let hasLasted = ContinuousClock.now - latestTry > latest + Self.longest
    latest = hasLasted ? Self.shortest : min(latest * 2, Self.longest)
    latestTry = .now
    return latest
  }
}

extension StorageError {
  /// Whether the same may succeed a little later without anybody's help.
  fileprivate var mayPass: Bool { [.unavailable, .busy, .timeout].contains(code) }
}
