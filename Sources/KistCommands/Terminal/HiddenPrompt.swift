internal import Glibc
package import KistCore

/// Asks for a line on a terminal that does not show it: termios(3).
///
/// The echo is put back whatever happens, also when a signal ends the process.
package func hiddenLine(asking question: String, on path: String) throws(StorageError) -> Secret {
  let terminal = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
  defer { if terminal >= 0 { close(terminal) } }
  var settings = termios()
  guard terminal >= 0, unsafe tcgetattr(terminal, &settings) == 0 else {
    throw StorageError(
      .badRequest, "there is no terminal to ask at", hint: "pipe the secret into the command")
  }
  unsafe shown = (terminal, settings)
  let previous = endings.map { ($0, signal($0, showAgainAndEnd)) }
  defer {
    unsafe tcsetattr(terminal, TCSAFLUSH, &settings)
    for (number, handler) in previous { signal(number, handler) }
    unsafe shown = nil
  }
  var hidden = settings
  hidden.c_lflag &= ~tcflag_t(ECHO)
  hidden.c_lflag |= tcflag_t(ECHONL)
  // Stopped with the echo off, the process would leave the shell without it.
  hidden.c_cc.10 = 0  // VSUSP
  unsafe tcsetattr(terminal, TCSAFLUSH, &hidden)
  unsafe write(terminal, question, question.utf8.count)
  return try readLine(from: terminal)
}

private func readLine(from terminal: CInt) throws(StorageError) -> Secret {
  var line = WipedBytes(capacity: longestLine)
  var byte: UInt8 = 0
  while byte != UInt8(ascii: "\n") {
    let count = unsafe read(terminal, &byte, 1)
    if count < 0, errno == EINTR { continue }
    guard count == 1 else {
      throw StorageError(.badRequest, "nothing was typed", outcome: .unchanged)
    }
    if byte != UInt8(ascii: "\n") { line.append(byte) }
  }
  guard line.count < longestLine else {
    throw StorageError(
      .tooLarge, "a terminal takes lines of less than \(longestLine) bytes",
      hint: "pipe the secret into the command", outcome: .unchanged)
  }
  return Secret(line)
}

/// Where the terminal cuts a line without saying so: N_TTY_BUF_SIZE, less the newline.
private let longestLine = 4095

/// The signals that end a process whose handlers are the default ones.
private let endings = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]

// What a signal handler can see must be global. It is set before the handlers are, and cleared after.
private nonisolated(unsafe) var shown: (terminal: CInt, settings: termios)?

private func showAgainAndEnd(_ number: CInt) {
  if var shown = unsafe shown { unsafe tcsetattr(shown.terminal, TCSANOW, &shown.settings) }
  signal(number, SIG_DFL)
  raise(number)
}
