public import KistCore
private import Synchronization

extension WatchCredentials {
  /// Returns a watch that begins again after a loss, for example when kistd restarts.
  ///
  /// Changes that may have been missed are reported as one `reset`.
  ///
  /// The first retry comes 100 ms after the loss. Each further wait is twice as long, up to 10
  /// seconds. Retries go on while kistd does not run, has no free connection, or does not answer.
  /// Any other error ends the watch. The first `begin` is not retried.
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
    /// The revision of the latest reported change; `nil` if later changes are possible.
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

  /// Returns whether changes may have been missed; `nil` if the task is cancelled.
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

/// The wait before each retry.
private struct Backoff {
  private static let shortest = Duration.milliseconds(100)
  private static let longest = Duration.seconds(10)

  private var latest = shortest / 2
  private var latestTry = ContinuousClock.now

  /// Doubles the previous wait, or starts again if the last connection outlasted any wait.
  mutating func next() -> Duration {
    let hasLasted = ContinuousClock.now - latestTry > latest + Self.longest
    latest = hasLasted ? Self.shortest : min(latest * 2, Self.longest)
    latestTry = .now
    return latest
  }
}

extension StorageError {
  /// Whether the same request may succeed later without any action by the user.
  fileprivate var mayPass: Bool { [.unavailable, .busy, .timeout].contains(code) }
}
