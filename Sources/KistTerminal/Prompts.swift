internal import Glibc
package import KistCore
private import Synchronization

/// Asks for a line on a terminal, and hides what is typed: termios(3).
///
/// The echo is restored in the end, and before SIGHUP, SIGINT, SIGQUIT, SIGTERM or SIGTSTP stops or
/// ends the process. When a stopped process continues, it asks the question again.
package func hiddenLine(asking question: String, on path: String) throws(StorageError) -> Secret {
  try line(asking: question, on: path) { (terminal, settings, body) throws(StorageError) in
    try hiding(settings, on: terminal, body)
  }
}

/// Asks for a line on a terminal, like `hiddenLine`, but shows what is typed.
package func shownLine(asking question: String, on path: String) throws(StorageError) -> String {
  try line(asking: question, on: path) { (_, _, body) throws(StorageError) in try body() }
    .withBytes(String.init(repairing:))
}

/// Asks for a line on a terminal; asks again when a stopped process continues.
///
/// - Parameter withEchoSet: Sets whether the terminal shows what is typed, and meanwhile calls its
///   last argument, which asks the question and reads the answer.
private func line(
  asking question: String, on path: String,
  withEchoSet: (CInt, termios, () throws(StorageError) -> Answer) throws(StorageError) -> Answer
) throws(StorageError) -> Secret {
  let (terminal, settings) = try openTerminal(path)
  defer { close(terminal) }
  while true {
    // These signals end, stop or continue the process. The prompt catches them, restores the echo,
    // and then raises them again with `raiseUnblocked`.
    let signals = try CaughtSignals([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCONT])
    let answer = Result { () throws(StorageError) in
      try withEchoSet(terminal, settings) { () throws(StorageError) in
        show(question, on: terminal)
        return try readLine(from: terminal, orSignalFrom: signals.source)
      }
    }
    signals.end()
    switch try answer.get() {
    case .line(let line): return line
    case .signal(let number):
      raiseUnblocked(number)
      // If a caller records this signal (`notedSignals`), then raising it does not end the process.
      // The prompt must then throw.
      guard [SIGTSTP, SIGCONT].contains(number) else { throw .leftWithoutAnswer }
    }
  }
}

/// Returns whether this process has a controlling terminal (tty(4)), at which it can ask.
package func hasControllingTerminal() -> Bool {
  let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
  if terminal >= 0 { close(terminal) }
  return terminal >= 0
}

private func openTerminal(_ path: String) throws(StorageError) -> (CInt, termios) {
  let terminal = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
  var settings = termios()
  guard terminal >= 0, unsafe tcgetattr(terminal, &settings) == 0 else {
    if terminal >= 0 { close(terminal) }
    throw .badRequest(
      "there is no terminal to ask at",
      hint: "pipe the answer into the command; `su --command` has a terminal only with `--pty`")
  }
  return (terminal, settings)
}

/// Prints a question, with control and misleading characters escaped.
///
/// Leaves one column free for the space before the answer.
private func show(_ question: String, on terminal: CInt) {
  let width = (columns(ofTerminal: terminal) ?? 80) - 1
  let endsWithSpace = question.last == " "
  let words = visible(endsWithSpace ? String(question.dropLast()) : question)
  let lines = wrapped(words, to: width, indent: 2)
  let text = lines.joined(separator: "\n") + (endsWithSpace ? " " : "")
  _ = unsafe write(terminal, text, text.utf8.count)
}

private enum Answer { case line(Secret), signal(CInt) }

/// Calls a function while a terminal hides what is typed, except newlines.
private func hiding(
  _ settings: termios, on terminal: CInt, _ body: () throws(StorageError) -> Answer
) throws(StorageError) -> Answer {
  var (settings, hidden) = (settings, settings)
  hidden.c_lflag &= ~tcflag_t(ECHO)
  hidden.c_lflag |= tcflag_t(ECHONL)
  unsafe tcsetattr(terminal, TCSAFLUSH, &hidden)
  defer { unsafe tcsetattr(terminal, TCSAFLUSH, &settings) }
  return try body()
}

private func readLine(
  from terminal: CInt, orSignalFrom signals: CInt
) throws(StorageError) -> Answer {
  var line = WipedBytes(capacity: longestLine + 1)
  var byte: UInt8 = 0
  while byte != UInt8(ascii: "\n") {
    var sources = [
      pollfd(fd: terminal, events: Int16(POLLIN), revents: 0),
      pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
    ]
    guard unsafe poll(&sources, nfds_t(sources.count), -1) > 0 else { continue }
    if sources[1].revents != 0, unsafe read(signals, &byte, 1) == 1 {
      _ = unsafe write(terminal, "\n", 1)
      return .signal(CInt(byte))
    }
    let count = unsafe read(terminal, &byte, 1)
    if count < 0, errno == EINTR { continue }
    guard count == 1 else {
      _ = unsafe write(terminal, "\n", 1)
      throw .leftWithoutAnswer
    }
    if byte != UInt8(ascii: "\n") { line.append(byte) }
  }
  guard line.count <= longestLine else {
    throw .refused(
      "the line is too long: a terminal accepts at most \(longestLine) bytes", as: .tooLarge,
      hint: "pipe the secret into the command")
  }
  return .line(Secret(line))
}

/// The maximum number of bytes that a prompt accepts in one line.
///
/// The kernel keeps at most 4,095 bytes of a line (N_TTY_BUF_SIZE minus 1 for the newline), and
/// silently drops the rest. So a line of 4,095 bytes may be incomplete.
private let longestLine = 4094

extension StorageError {
  fileprivate static let leftWithoutAnswer = StorageError.refused(
    "the prompt was ended without an answer",
    hint: "nothing was changed; run the command again, type the answer and press Enter")
}

/// Asks for a new passphrase twice, because nothing else can reveal a typing error.
///
/// If the passphrase is empty, it is returned without the second question.
///
/// - Parameter ask: Asks for a hidden line.
package func newPassphrase(
  asking question: String, by ask: (String) throws(StorageError) -> Secret
) throws(StorageError) -> Secret {
  let passphrase = try ask(question)
  if passphrase.isEmpty { return passphrase }
  guard try ask("Repeat the passphrase: ") == passphrase else {
    throw .refused("the two passphrases differ", hint: "nothing was changed; try again")
  }
  return passphrase
}

/// Records the signals that ask this process to end.
///
/// Signals that the process ignores stay ignored.
package func notedSignals() throws(StorageError) -> NotedSignals {
  let numbers = [SIGHUP, SIGINT, SIGTERM]
  let signals = try CaughtSignals(numbers)
  return NotedSignals(
    first: {
      var byte: UInt8 = 0
      // A prompt that ran after the recording began may have left other signals in the pipe, such
      // as SIGTSTP; skip them.
      while unsafe read(signals.source, &byte, 1) == 1 {
        if numbers.contains(CInt(byte)) { return CInt(byte) }
      }
      return nil
    }, end: signals.end, raiseUnblocked: raiseUnblocked)
}

/// Signals that are recorded instead of taking effect.
package struct NotedSignals: Sendable {
  /// Returns the earliest signal that it has not returned yet; `nil` if there is none.
  package var first: @Sendable () -> CInt?
  /// Restores the previous effect of the signals.
  package var end: @Sendable () -> Void
  /// Raises a signal immediately, as the function `raiseUnblocked` does.
  package var raiseUnblocked: @Sendable (CInt) -> Void

  package init(
    first: @escaping @Sendable () -> CInt?, end: @escaping @Sendable () -> Void,
    raiseUnblocked: @escaping @Sendable (CInt) -> Void
  ) {
    self.first = first
    self.end = end
    self.raiseUnblocked = raiseUnblocked
  }
}

/// Catches signals until `end` is called: a signal handler writes their numbers to a pipe.
///
/// A prompt waits for the terminal and the pipe at the same time. Without the pipe, it could miss a
/// signal, because the kernel may deliver a signal to another thread.
///
/// All instances share one pipe. During a prompt, only the prompt reads from it, even if the program
/// also records signals with `notedSignals`.
struct CaughtSignals: Sendable {
  /// The reading end of the pipe.
  let source: CInt
  private let previous: [(number: CInt, handler: SignalHandler?)]

  init(_ numbers: [CInt]) throws(StorageError) {
    let (source, isFirst) = try beginCatching()
    self.source = source
    // Discards the signals of earlier instances, but not while another instance may read them.
    var byte: UInt8 = 0
    while isFirst, unsafe read(source, &byte, 1) == 1 {}
    previous = numbers.map { ($0, signal($0, writeToPipe)) }
    for (number, handler) in previous where isIgnoring(handler) { signal(number, handler) }
  }

  func end() {
    for (number, handler) in previous { signal(number, handler) }
    catching.withLock { $0.users -= 1 }
  }
}

/// Returns the reading end of the shared pipe, and whether no other instance uses it.
///
/// The first call opens the pipe, and nothing closes it. A handler on another thread may write to
/// it even after `end`. If the pipe were closed, its number could then belong to another file.
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
  unsafe pipeWriteEnd = ends[1]
  return ends[0]
}

private let catching = Mutex<(source: CInt?, users: Int)>((nil, 0))

private typealias SignalHandler = @convention(c) (CInt) -> Void

private func isIgnoring(_ handler: SignalHandler?) -> Bool {
  unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
}

/// Raises a signal immediately, even on a thread that blocks it.
///
/// Without a handler, the signal ends or stops the process, or does nothing (SIGCONT).
package func raiseUnblocked(_ number: CInt) {
  // If this thread blocks the signal, the signal has no effect until the thread unblocks it. Threads
  // of a pool may never do that.
  var (set, previous) = (sigset_t(), sigset_t())
  unsafe sigemptyset(&set)
  unsafe sigaddset(&set, number)
  unsafe pthread_sigmask(SIG_UNBLOCK, &set, &previous)
  raise(number)
  unsafe pthread_sigmask(SIG_SETMASK, &previous, nil)
}

// A global variable, because a signal handler cannot capture values. It is set before a handler is
// installed.
private nonisolated(unsafe) var pipeWriteEnd: CInt = -1

/// Handles a signal: writes its number to the pipe.
private func writeToPipe(_ number: CInt) {
  var byte = UInt8(truncatingIfNeeded: number)
  let saved = errno
  _ = unsafe write(pipeWriteEnd, &byte, 1)
  errno = saved
}
