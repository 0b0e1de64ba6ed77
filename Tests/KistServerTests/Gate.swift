import Synchronization

/// Holds tasks back until it is opened, and counts them.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let (arrivals, arrive) = AsyncStream.makeStream(of: Void.self)

  func pass() async {
    arrive.yield()
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  /// Waits until so many have come in all, when called once.
  func arrived(_ count: Int) async {
    var iterator = arrivals.makeAsyncIterator()
    for _ in 0..<count { await iterator.next() }
  }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
