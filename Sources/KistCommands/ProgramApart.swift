internal import Glibc
internal import KistCore
internal import KistSystem

/// Runs a program that starts a daemon; returns its standard error and its exit status.
///
/// The program does not get the standard input and output of this process. It gets only the
/// variables that kistd reads.
///
/// Throws `timeout` if the program does not end within 30 seconds. The daemon may still start
/// later.
func errorOutput(of words: [String]) throws(StorageError) -> (error: String, status: CInt) {
  let (reading, writing) = try newPipe()
  defer { close(reading) }
  let pid: pid_t
  do throws(CommandNotStarted) {
    defer { close(writing) }
    pid = try startApart(words, error: writing)
  } catch { throw error.complaint }
  let output = text(of: reading, by: .now + .seconds(30))
  if output == nil { kill(pid, SIGKILL) }
  let status = exitStatus(of: pid)
  guard let output else {
    throw StorageError(
      .timeout, "kistd did not start within 30 seconds",
      hint: "it may start later; `kist status` shows whether it runs")
  }
  return (output, status)
}

private func startApart(
  _ words: [String], error: CInt
) throws(CommandNotStarted) -> pid_t {
  let (pid, failure) = unsafe withCStrings(words) { words in
    unsafe withCStrings(addedVariables) { added in
      let added = unsafe addedVariables.indices.map { unsafe added[$0]! }
      return unsafe withEnvironment(adding: added, keeping: kept) { environment in
        unsafe spawn(
          words, environment,
          streams: [
            STDIN_FILENO: .null, STDOUT_FILENO: .null, STDERR_FILENO: .descriptor(error),
          ])
      }
    }
  }
  guard failure == 0 else { throw CommandNotStarted(failure: failure) }
  return pid
}

/// The variables that kistd and its libraries read.
///
/// Other variables may contain secrets, which kistd must not get.
private let kept = [
  "HOME=", "XDG_", "DBUS_", "KISTD_", "LANG=", "LC_", "LD_LIBRARY_PATH=", "PATH=",
]

/// By default, the daemon ends when it is idle, as the service does.
private var addedVariables: [String] {
  environmentVariable("KISTD_IDLE_EXIT") ?? "" == "" ? ["KISTD_IDLE_EXIT=10min"] : []
}

/// Reads a pipe to its end, and returns at most the last 16 KiB; returns `nil` at the deadline.
private func text(of pipe: CInt, by deadline: ContinuousClock.Instant) -> String? {
  var bytes: [UInt8] = []
  while true {
    var events = [pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)]
    let rest = max(0, (deadline - .now) / .milliseconds(1))
    let ready = unsafe poll(&events, 1, CInt(rest))
    if ready < 0, errno == EINTR { continue }
    guard ready > 0 else { return nil }
    var piece = [UInt8](repeating: 0, count: 4096)
    let count = unsafe read(pipe, &piece, piece.count)
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
    bytes = (bytes + piece.prefix(count)).suffix(16 << 10)
  }
}
