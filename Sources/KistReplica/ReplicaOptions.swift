package import KistCore
package import KistShared
package import KistSodium
package import KistVault
private import Synchronization

/// The options of a replica: the machine, and the functions for time and randomness.
///
/// A test replaces the functions, so that it decides about every delay and every random number.
package struct ReplicaOptions: Sendable {
  /// The secret keys of this machine.
  package var machine: MachineIdentity
  /// The time limit of a change; after it, a lost answer is not settled any longer.
  package var deadline: Duration = .seconds(10)
  /// How long a change waits for a new generation after an admin asked for it.
  package var waitsForGeneration: Duration = .milliseconds(500)
  /// How long after a confirmation of the head a credential that is not in the copy counts as absent.
  package var trustsAbsenceFor: Duration = .seconds(5)
  /// The time between two confirmations of the head while the replica follows the cluster.
  package var confirmsEvery: Duration = .seconds(3)
  /// The longest time that changes of other machines are in memory only, until many are written at once.
  package var writesAfter: Duration = .seconds(5)
  /// The shortest time between two beacons of this machine while the replica follows the cluster.
  package var beaconsEvery: Duration = .seconds(10)
  /// Returns the time of the system's clock.
  package var now: @Sendable () -> Timestamp = Timestamp.now
  /// Returns the time since some moment, by a clock that is never set.
  package var elapsed: @Sendable () -> Duration
  /// Waits; returns early if the task is cancelled.
  package var sleep: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  /// Is called with the result of each regular confirmation of the head; `nil` if it succeeded.
  ///
  /// It is not called while a new key begins.
  package var afterConfirmation: @Sendable (StorageError?) -> Void = { _ in }
  /// Is called when the vault has a new key, also if this machine was removed.
  ///
  /// Make a new copy then: close the vault, replace the copy by what the given function returns, and open
  /// the vault again. The function can be called while the vault is open.
  package var whenGenerationBegins:
    @Sendable (
      _ renew: @escaping @Sendable () async throws(StorageError) -> SharedVault.Renewal?
    ) -> Void = { _ in }
  /// Makes a copy for a generation that was announced, and opens it; `nil` to make none.
  ///
  /// It is made beside the present copy. Once it is complete, the vault closes it, and returns a renewal
  /// without content.
  package var makeNextCopy:
    (
      @Sendable (
        _ master: GuardedKey, _ storeID: [UInt8], _ content: CopyChange
      ) async throws(StorageError) -> LocalCopy
    )?
  /// Returns this many random bytes: nonces, ids of operations, and the jitter of delays.
  package var random: @Sendable (Int) -> [UInt8] = { randomBytes($0) }
  /// Returns the master key of a new generation: random bytes that nothing else has.
  package var newMaster: @Sendable () throws(StorageError) -> GuardedKey = {
    () throws(StorageError) in try .random()
  }

  package init(machine: MachineIdentity) {
    self.machine = machine
    let start = ContinuousClock.now
    elapsed = { start.duration(to: .now) }
  }
}

/// A moment, by both clocks.
struct Moment {
  /// The time since some moment, by a clock that is never set.
  let elapsed: Duration
  /// The time of the system's clock.
  let time: Timestamp
}

extension ReplicaOptions {
  func moment() -> Moment { Moment(elapsed: elapsed(), time: now()) }

  /// Waits before another attempt: a random part of a time that doubles with each attempt, up to 1 s.
  ///
  /// The random part keeps machines from meeting again and again.
  func backOff(before attempt: Int) async {
    let most = min(1000, 8 << min(attempt, 7))
    let random = random(2)
    let part = Int(random[0]) << 8 | Int(random[1])
    await sleep(.milliseconds(1 + most * part / 65536))
  }
}

/// Lets one task at a time change the replica, in the order in which they asked.
final class Turn: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// Waits for the turn, and calls the body.
  func take<Result>(
    _ body: () async throws(StorageError) -> Result
  ) async throws(StorageError) -> Result {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        defer { state.isTaken = true }
        if state.isTaken { state.waiting.append(continuation) }
        return !state.isTaken
      }
      if isFree { continuation.resume() }
    }
    defer {
      let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
        if state.waiting.isEmpty {
          state.isTaken = false
          return nil
        }
        return state.waiting.removeFirst()
      }
      next?.resume()
    }
    return try await body()
  }
}
