internal import Dispatch

/// Waits, as `Task.sleep` does, which on Linux uses a thread that libdispatch watches from then on,
/// with a timer that wakes the process every second.
func sleepUnwatched(for duration: Duration) async {
  let nanoseconds = duration / .nanoseconds(1)
  await withCheckedContinuation { continuation in
    // A queue of one's own has threads that nothing watches.
    DispatchQueue(label: "kist.sleep").asyncAfter(
      deadline: .now() + .nanoseconds(Int(max(nanoseconds, 0)))
    ) {
      continuation.resume()
    }
  }
}
