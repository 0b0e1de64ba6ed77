import KistTesting
import Synchronization

/// Runs tasks on one thread, one step after another, in an order that a seed decides.
///
/// A step is the part of a task between two suspensions. Time passes only when no task can run.
final class Scheduler: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var sleepers: [(wakesAt: Duration, continuation: CheckedContinuation<Void, Never>)] = []
    var time = Duration.zero
    var random: Seeded
    var steps = 0

    /// Removes a job that can run; if there is none, the sleeper that wakes up first.
    mutating func next() -> Next? {
      steps += 1
      if !jobs.isEmpty {
        return .job(jobs.remove(at: Int.random(in: jobs.indices, using: &random)))
      }
      let first = sleepers.indices.min { sleepers[$0].wakesAt < sleepers[$1].wakesAt }
      guard let first else { return nil }
      let sleeper = sleepers.remove(at: first)
      time = max(time, sleeper.wakesAt)
      return .sleeper(sleeper.continuation)
    }
  }

  private enum Next {
    case job(UnownedJob)
    case sleeper(CheckedContinuation<Void, Never>)
  }

  private let state: Mutex<State>

  init(seed: UInt64) { state = Mutex(State(random: Seeded(seed))) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
  }

  /// Starts a task, whose children also run here.
  @discardableResult
  func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: self) { await body() }
  }

  /// Runs all tasks to their ends; returns `false` if that takes too many steps.
  func run(most: Int = 200_000) -> Bool {
    while true {
      let (next, steps) = state.withLock { ($0.next(), $0.steps) }
      if steps > most { return false }
      switch next {
      case .job(let job): unsafe job.runSynchronously(on: asUnownedTaskExecutor())
      case .sleeper(let continuation): continuation.resume()
      case nil: return true
      }
    }
  }

  var time: Duration { state.withLock(\.time) }
  /// The number of steps so far, which orders events at the same time.
  var step: Int { state.withLock(\.steps) }

  func sleep(_ duration: Duration) async {
    await withCheckedContinuation { continuation in
      state.withLock { $0.sleepers.append(($0.time + duration, continuation)) }
    }
  }

  func random(in range: ClosedRange<Int>) -> Int {
    state.withLock { Int.random(in: range, using: &$0.random) }
  }

  /// Returns `true` in one of so many cases.
  func happens(oneIn cases: Int) -> Bool { cases > 0 && random(in: 1...cases) == 1 }

  func bytes(_ count: Int) -> [UInt8] {
    state.withLock { state in
      (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &state.random) }
    }
  }
}
