public import KistCore
private import Synchronization

extension WatchCredentials {
  /// Returns a watch that begins again when its connection is lost, for example when kistd
  /// restarts.
  ///
  /// If changes may have been missed, it reports a `reset`. The first retry comes 100 ms after the
  /// loss. Each further wait is twice as long, up to 10 seconds; if the next loss comes more than 10
  /// seconds after a wait, the waits start again at 100 ms. The watch retries while kistd does
  /// not run, has too many clients, or does not answer. Any other error ends the watch. If the
  /// very first connection fails, there is no retry.
  ///
  /// - Parameters:
  ///   - sleep: Waits before each retry; throws if the task is cancelled.
  ///   - whenLost: Called at each loss, but not for the failed retries after it.
  public func reconnecting(
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    whenLost: @escaping @Sendable (StorageError) -> Void = { _ in }
  ) -> WatchCredentials {
    WatchCredentials { request throws(StorageError) in
      let first = try await begin(request)
      let watch = ReconnectingWatch(first)
      return CredentialChanges(position: first.position) { () throws(StorageError) in
        try await watch.next(sleep, whenLost) { () throws(StorageError) in
          try await begin(request)
        }
      }
    }
  }
}

private final class ReconnectingWatch: Sendable {
  private struct State {
    var changes: CredentialChanges
    /// The position of the watch: the revision of the latest change; `nil` if it is not known.
    var latest: Revision?
    var backoff = Backoff()
  }

  private let state: Mutex<State>

  init(_ first: CredentialChanges) { state = Mutex(State(changes: first, latest: first.position)) }

  func next(
    _ sleep: (Duration) async throws -> Void, _ whenLost: (StorageError) -> Void,
    begin: () async throws(StorageError) -> CredentialChanges
  ) async throws(StorageError) -> CredentialChange? {
    while true {
      let changes = state.withLock(\.changes)
      do throws(StorageError) {
        guard let change = try await changes.makeAsyncIterator().next() else { return nil }
        state.withLock { $0.latest = change.revision }
        return change
      } catch {
        guard error.isTemporary else { throw error }
        whenLost(error)
      }
      guard let hasMissed = try await watchAgain(sleep, begin) else { return nil }
      if hasMissed { return .reset }
    }
  }

  /// Returns whether changes may have been missed; `nil` if the task is cancelled.
  private func watchAgain(
    _ sleep: (Duration) async throws -> Void,
    _ begin: () async throws(StorageError) -> CredentialChanges
  ) async throws(StorageError) -> Bool? {
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
        guard error.isTemporary else { throw error }
      }
    }
  }
}

/// The wait before each retry.
private struct Backoff {
  private static let shortest = Duration.milliseconds(100)
  private static let longest = Duration.seconds(10)

  private var latest = shortest / 2
  /// When the latest wait began.
  private var latestStart = ContinuousClock.now

  /// Returns twice the previous wait, but at most 10 seconds.
  ///
  /// Starts again with the shortest wait if more than 10 seconds have passed since the previous wait.
  mutating func next() -> Duration {
    let hasLasted = ContinuousClock.now - latestStart > latest + Self.longest
    latest = hasLasted ? Self.shortest : min(latest * 2, Self.longest)
    latestStart = .now
    return latest
  }
}

extension StorageError {
  /// Whether the same request may succeed later without any action by the user.
  fileprivate var isTemporary: Bool { [.unavailable, .busy, .timeout].contains(code) }
}
