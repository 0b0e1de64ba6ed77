internal import Dispatch

/// Waits without the timer that `Task.sleep` causes.
///
/// On Linux, `Task.sleep` uses a thread that libdispatch then watches with a timer. That timer
/// wakes the process every second.
func sleepUnwatched(for duration: Duration) async {
  let nanoseconds = duration / .nanoseconds(1)
  await withCheckedContinuation { continuation in
    // libdispatch does not watch the threads of a private queue.
    DispatchQueue(label: "kist.sleep").asyncAfter(
      deadline: .now() + .nanoseconds(Int(max(nanoseconds, 0)))
    ) {
      continuation.resume()
    }
  }
}
