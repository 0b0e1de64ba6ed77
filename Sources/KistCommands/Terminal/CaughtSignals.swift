internal import Glibc
internal import KistCore

/// Carries out a function that gets, from a pipe, the number of each signal that would end, stop or
/// continue the process; afterwards they do so again.
///
/// A signal may come to any thread, so that it need not interrupt the one that waits.
func catchingSignals<Result>(
  _ body: (CInt) throws(StorageError) -> Result
) throws(StorageError) -> Result {
  var ends: [CInt] = [-1, -1]
  guard unsafe pipe(&ends) == 0 else {
    throw StorageError(
      .unavailable, "no pipe could be opened", hint: "raise the limit on files (ulimit -n)",
      outcome: .unchanged)
  }
  unsafe written = ends[1]
  let previous = caught.map { ($0, signal($0, write)) }
  defer {
    for (number, handler) in previous { signal(number, handler) }
    unsafe written = -1
    close(ends[0])
    close(ends[1])
  }
  return try body(ends[0])
}

/// Lets a signal do here and now what it does by default: end the process, or stop it for a while.
func carryOut(_ number: CInt) {
  // A thread that blocks signals, as those of a pool do, would leave it pending.
  var (set, previous) = (sigset_t(), sigset_t())
  unsafe sigemptyset(&set)
  unsafe sigaddset(&set, number)
  unsafe pthread_sigmask(SIG_UNBLOCK, &set, &previous)
  raise(number)
  unsafe pthread_sigmask(SIG_SETMASK, &previous, nil)
}

private let caught = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCONT]

// What a signal handler can see must be global. It is set before the handlers are.
private nonisolated(unsafe) var written: CInt = -1

private func write(_ number: CInt) {
  var byte = UInt8(truncatingIfNeeded: number)
  let saved = errno
  _ = unsafe Glibc.write(written, &byte, 1)
  errno = saved
}
