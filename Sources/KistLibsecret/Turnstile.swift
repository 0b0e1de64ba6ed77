/// A lock that admits one task at a time, in the order of arrival; used on one actor.
final class Turnstile {
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func enter() async {
    if take() { return }
    // The turnstile may become free before the continuation is made.
    await withCheckedContinuation { continuation in
      if take() { continuation.resume() } else { waiting.append(continuation) }
    }
  }

  private func take() -> Bool {
    defer { isTaken = true }
    return !isTaken
  }

  func leave() {
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }
}
