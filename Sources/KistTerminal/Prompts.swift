internal import Glibc
package import KistCore
private import Synchronization

/// Asks for a line on a terminal that does not show it: termios(3).
///
/// The echo is restored in every case, also while a signal stops the process and when one ends it.
/// When the process continues after a stop, the question is asked again.
package func hiddenLine(asking question: String, on path: String) throws(StorageError) -> Secret {
  try line(asking: question, on: path) { (terminal, settings, body) throws(StorageError) in
    try hiding(settings, on: terminal, body)
  }
}

/// Asks for a line on a terminal that shows it; otherwise like `hiddenLine`.
package func shownLine(asking question: String, on path: String) throws(StorageError) -> String {
  try line(asking: question, on: path) { (_, _, body) throws(StorageError) in try body() }
    .withBytes(String.init(repairing:))
}

private func line(
  asking question: String, on path: String,
  while showing: (CInt, termios, () throws(StorageError) -> Answer) throws(StorageError) -> Answer
) throws(StorageError) -> Secret {
  let (terminal, settings) = try openTerminal(path)
  defer { close(terminal) }
  while true {
    // These would end, stop or continue the process, and do so again afterwards.
    let signals = try CaughtSignals([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCONT])
    let answer = Result { () throws(StorageError) in
      try showing(terminal, settings) { () throws(StorageError) in
        show(question, on: terminal)
        return try readLine(from: terminal, orSignalFrom: signals.source)
      }
    }
    signals.end()
    switch try answer.get() {
    case .line(let line): return line
    case .signal(let number):
      carryOut(number)
      // If a caller records the signals that end the process, it continues and needs an error.
      guard [SIGTSTP, SIGCONT].contains(number) else { throw .leftWithoutAnswer }
    }
  }
}

private func openTerminal(_ path: String) throws(StorageError) -> (CInt, termios) {
  let terminal = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
  var settings = termios()
  guard terminal >= 0, unsafe tcgetattr(terminal, &settings) == 0 else {
    if terminal >= 0 { close(terminal) }
    throw .badRequest("there is no terminal to ask at", hint: "pipe the secret into the command")
  }
  return (terminal, settings)
}

/// Shows a question in visible characters, with a column between it and the answer.
private func show(_ question: String, on terminal: CInt) {
  let lines = wrapped(visible(question), to: (columns(ofTerminal: terminal) ?? 80) - 1)
  let text = lines.joined(separator: "\n") + (question.last == " " ? " " : "")
  _ = unsafe write(terminal, text, text.utf8.count)
}

private enum Answer { case line(Secret), signal(CInt) }

/// Calls a function while a terminal shows only the newline of the typed text.
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
  var line = WipedBytes(capacity: longestLine)
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
  guard line.count < longestLine else {
    throw .refused(
      "a terminal takes lines of less than \(longestLine) bytes", as: .tooLarge,
      hint: "pipe the secret into the command")
  }
  return .line(Secret(line))
}

/// The length at which a terminal cuts a line without notice: N_TTY_BUF_SIZE, less the newline.
private let longestLine = 4095

extension StorageError {
  fileprivate static let leftWithoutAnswer = StorageError.refused(
    "the prompt was left without an answer", hint: "nothing was changed; type it and press Enter")
}

/// Asks for a new passphrase twice, or once if nothing is typed; `ask` asks for a hidden line.
///
/// It is typed twice because nothing can check it yet.
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
