import Synchronization
import Testing

@testable import KistDaemon

@Suite struct `A watch for quiet` {
  private let sleeps = Sleeps()

  @Test func `tells once that no request has come, and sleeps no more until one comes`() async {
    await confirmation(expectedCount: 2) { isQuiet in
      let (told, tell) = AsyncStream.makeStream(of: Void.self)
      let watch = QuietWatch(sleep: sleeps.sleep) {
        isQuiet()
        tell.yield()
      }
      var times = told.makeAsyncIterator()
      for _ in 0..<2 {
        watch.note()
        await sleeps.wakeOne()
        await times.next()
        #expect(sleeps.count == 0)
      }
    }
  }

  @Test func `waits on while requests come, and has one that sleeps for all of them`() async {
    let (told, tell) = AsyncStream.makeStream(of: Void.self)
    let watch = QuietWatch(sleep: sleeps.sleep) { tell.yield() }
    for _ in 0..<100 {
      watch.note()
      await sleeps.untilOneSleeps()
      #expect(sleeps.count == 1)
      watch.note()
      await sleeps.wakeOne()
    }
    await sleeps.wakeOne()
    var times = told.makeAsyncIterator()
    await times.next()
    tell.finish()
    #expect(await times.next() == nil, "it was told once")
  }
}

/// Who sleeps, until they are woken.
private final class Sleeps: Sendable {
  private let sleeping = Mutex<[CheckedContinuation<Void, Never>]>([])

  var count: Int { sleeping.withLock(\.count) }

  @Sendable func sleep(_ duration: Duration) async {
    await withCheckedContinuation { continuation in sleeping.withLock { $0.append(continuation) } }
  }

  func untilOneSleeps() async { while count == 0 { await Task.yield() } }

  func wakeOne() async {
    await untilOneSleeps()
    sleeping.withLock { $0.removeFirst() }.resume()
  }
}
