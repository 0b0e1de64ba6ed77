internal import Glibc
package import KistCore
private import Synchronization

/// Records the signals that ask this process to end, except those ignored since its start.
package func notedSignals() throws(StorageError) -> NotedSignals {
  let numbers = [SIGHUP, SIGINT, SIGTERM]
  let signals = try CaughtSignals(numbers)
  return NotedSignals(
    first: {
      var byte: UInt8 = 0
      // A prompt in between may have left others.
      while unsafe read(signals.source, &byte, 1) == 1 {
        if numbers.contains(CInt(byte)) { return CInt(byte) }
      }
      return nil
    }, end: signals.end, carryOut: carryOut)
}

/// Signals that are recorded instead of taking effect.
package struct NotedSignals: Sendable {
  /// Returns the first signal that was not returned yet; `nil` if there is none.
  package var first: @Sendable () -> CInt?
  /// Restores the previous effect of the signals.
  package var end: @Sendable () -> Void
  /// Performs the default action of a signal immediately.
  package var carryOut: @Sendable (CInt) -> Void

  package init(
    first: @escaping @Sendable () -> CInt?, end: @escaping @Sendable () -> Void,
    carryOut: @escaping @Sendable (CInt) -> Void
  ) {
    self.first = first
    self.end = end
    self.carryOut = carryOut
  }
}

/// Signals whose numbers come from a pipe, until `end` restores their effects.
///
/// A pipe is needed because a signal may come to any thread and need not interrupt the waiting one.
/// If two values exist, the later one gets the signals.
struct CaughtSignals: Sendable {
  /// The reading end of the pipe.
  let source: CInt
  private let previous: [(number: CInt, handler: SignalHandler?)]

  init(_ numbers: [CInt]) throws(StorageError) {
    let (source, isFirst) = try beginCatching()
    self.source = source
    // Discards signals that no caller has read, unless an earlier one may still read them.
    var byte: UInt8 = 0
    while isFirst, unsafe read(source, &byte, 1) == 1 {}
    previous = numbers.map { ($0, signal($0, write)) }
    for (number, handler) in previous where isIgnoring(handler) { signal(number, handler) }
  }

  func end() {
    for (number, handler) in previous { signal(number, handler) }
    catching.withLock { $0.users -= 1 }
  }
}

/// Returns the reading end of the only pipe, and whether no other caller waits for signals.
///
/// The pipe is opened at the first call and never closed. A handler on another thread may write to
/// it after signals are restored. By then a closed descriptor's number could be another file's.
private func beginCatching() throws(StorageError) -> (source: CInt, isFirst: Bool) {
  try catching.withLock { catching throws(StorageError) in
    let source = if let open = catching.source { open } else { try openSource() }
    catching = (source, catching.users + 1)
    return (source, catching.users == 1)
  }
}

private func openSource() throws(StorageError) -> CInt {
  var ends: [CInt] = [-1, -1]
  guard unsafe pipe(&ends) == 0 else {
    throw .refused(
      "cannot open a pipe", as: .unavailable, hint: "raise the limit on files (ulimit -n)")
  }
  for end in ends {
    _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    _ = fcntl(end, F_SETFL, O_NONBLOCK)
  }
  unsafe written = ends[1]
  return ends[0]
}

private let catching = Mutex<(source: CInt?, users: Int)>((nil, 0))

private typealias SignalHandler = @convention(c) (CInt) -> Void

private func isIgnoring(_ handler: SignalHandler?) -> Bool {
  unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
}

/// Performs the default action of a signal immediately: it ends or stops the process.
package func carryOut(_ number: CInt) {
  // A thread that blocks signals, such as one of a pool, would leave it pending.
  var (set, previous) = (sigset_t(), sigset_t())
  unsafe sigemptyset(&set)
  unsafe sigaddset(&set, number)
  unsafe pthread_sigmask(SIG_UNBLOCK, &set, &previous)
  raise(number)
  unsafe pthread_sigmask(SIG_SETMASK, &previous, nil)
}

// Global, because a signal handler uses it. It is set before the handlers are.
private nonisolated(unsafe) var written: CInt = -1

private func write(_ number: CInt) {
  var byte = UInt8(truncatingIfNeeded: number)
  let saved = errno
  _ = unsafe Glibc.write(written, &byte, 1)
  errno = saved
}
