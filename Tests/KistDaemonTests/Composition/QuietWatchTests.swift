import Synchronization
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `A watch for quiet` {
  private let sleeps = Sleeps()

  @Test func `reports once that no request has come, and does not sleep until one comes`() async {
    await confirmation(expectedCount: 2) { isQuiet in
      let (reports, report) = AsyncStream.makeStream(of: Void.self)
      let watch = QuietWatch(after: .seconds(5), now: sleeps.now, sleep: sleeps.sleep) {
        isQuiet()
        report.yield()
      }
      var times = reports.makeAsyncIterator()
      for _ in 0..<2 {
        watch.note()
        await sleeps.wakeOne()
        await times.next()
        #expect(sleeps.count == 0)
      }
    }
  }

  @Test func `waits while requests come, with one sleep for all of them`() async {
    let (reports, report) = AsyncStream.makeStream(of: Void.self)
    let watch = QuietWatch(after: .seconds(5), now: sleeps.now, sleep: sleeps.sleep) {
      report.yield()
    }
    for _ in 0..<100 {
      watch.note()
      await sleeps.untilOneSleeps()
      #expect(sleeps.count == 1)
      sleeps.pass(.seconds(1))
      watch.note()
      await sleeps.wakeOne()
    }
    await sleeps.wakeOne()
    var times = reports.makeAsyncIterator()
    await times.next()
    report.finish()
    #expect(await times.next() == nil, "it was reported once")
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A delayed check` {
  @Test func `follows the first of several requests, and then the next one`() async {
    let sleeps = Sleeps()
    let (checks, check) = AsyncStream.makeStream(of: Void.self)
    let delayed = DelayedCheck(after: .seconds(1), sleep: sleeps.sleep) { check.yield() }
    var times = checks.makeAsyncIterator()
    for _ in 0..<2 {
      for _ in 0..<10 {
        delayed.request()
        await sleeps.untilOneSleeps()
        #expect(sleeps.count == 1)
      }
      await sleeps.wakeOne()
      await times.next()
    }
  }
}

/// A clock that advances only when a sleeper is woken.
private final class Sleeps: Sendable {
  private struct State {
    var now = Duration.zero
    var sleeping: [(until: Duration, CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  var count: Int { state.withLock(\.sleeping.count) }

  @Sendable func now() -> SystemTick {
    SystemTick(nanoseconds: Int64(state.withLock(\.now) / .nanoseconds(1)))
  }

  @Sendable func sleep(_ duration: Duration) async {
    await withCheckedContinuation { continuation in
      state.withLock { $0.sleeping.append(($0.now + duration, continuation)) }
    }
  }

  func untilOneSleeps() async { while count == 0 { await Task.yield() } }

  func wakeOne() async {
    await untilOneSleeps()
    state.withLock { state in
      let (moment, continuation) = state.sleeping.removeFirst()
      state.now = max(state.now, moment)
      return continuation
    }.resume()
  }

  /// Advances the clock without waking a sleeper.
  func pass(_ duration: Duration) { state.withLock { $0.now += duration } }
}
