internal import Glibc
package import KistCore
private import Synchronization

/// Carries out a function that gets, from a pipe, the number of each signal that would end, stop or
/// continue the process; afterwards they do so again.
///
/// A signal may come to any thread, so that it need not interrupt the one that waits.
func catchingSignals<Result>(
  _ body: (CInt) throws(StorageError) -> Result
) throws(StorageError) -> Result {
  let signals = try CaughtSignals([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCONT])
  defer { signals.end() }
  return try body(signals.source)
}

/// Notes the signals that ask this process to end, but for those that it was started to ignore.
package func notedSignals() throws(StorageError) -> NotedSignals {
  let numbers = [SIGHUP, SIGINT, SIGTERM]
  let signals = try CaughtSignals(numbers)
  return NotedSignals(
    first: {
      var byte: UInt8 = 0
      // A prompt meanwhile may have left others.
      while unsafe read(signals.source, &byte, 1) == 1 {
        if numbers.contains(CInt(byte)) { return CInt(byte) }
      }
      return nil
    }, end: signals.end, carryOut: carryOut)
}

/// Signals that are noted in place of being carried out.
package struct NotedSignals: Sendable {
  /// The first that has come and was not asked for yet; `nil` where there is none.
  package var first: @Sendable () -> CInt?
  /// Lets signals do again what they did before.
  package var end: @Sendable () -> Void
  /// Lets a signal do here and now what it does by default.
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

/// Signals whose numbers come out of a pipe; of two of these, the one that was begun last gets them.
private struct CaughtSignals: Sendable {
  /// The end of the pipe that the numbers come out of.
  let source: CInt
  private let previous: [(number: CInt, handler: SignalHandler?)]

  init(_ numbers: [CInt]) throws(StorageError) {
    let (source, isFirst) = try beginCatching()
    self.source = source
    // What nobody asked for before is not told to who asks now; what somebody still may ask for stays.
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

/// The end of the one pipe that the numbers come out of, which is opened when it is first needed; and
/// whether nobody else waits for any.
///
/// It is never closed: a handler that runs on another thread while signals are given back writes into it
/// later, when the number of a descriptor that was closed may be that of another file.
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
    throw StorageError(
      .unavailable, "no pipe could be opened", hint: "raise the limit on files (ulimit -n)",
      outcome: .unchanged)
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

/// Lets a signal do here and now what it does by default: end the process, or stop it for a while.
package func carryOut(_ number: CInt) {
  // A thread that blocks signals, as those of a pool do, would leave it pending.
  var (set, previous) = (sigset_t(), sigset_t())
  unsafe sigemptyset(&set)
  unsafe sigaddset(&set, number)
  unsafe pthread_sigmask(SIG_UNBLOCK, &set, &previous)
  raise(number)
  unsafe pthread_sigmask(SIG_SETMASK, &previous, nil)
}

// What a signal handler can see must be global. It is set before the handlers are.
private nonisolated(unsafe) var written: CInt = -1

private func write(_ number: CInt) {
  var byte = UInt8(truncatingIfNeeded: number)
  let saved = errno
  _ = unsafe Glibc.write(written, &byte, 1)
  errno = saved
}
