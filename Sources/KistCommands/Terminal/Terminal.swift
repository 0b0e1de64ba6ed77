internal import Glibc
internal import KistCore
internal import KistJSON
internal import KistSystem
internal import KistTerminal
internal import KistWire

/// The input, output, user and time of a command.
struct Terminal: Sendable {
  var inputIsTerminal: Bool
  /// Whether the user can also be asked: the terminal of standard input may belong to another
  /// session, as in `su --command`.
  var canAsk: Bool
  var outputIsTerminal: Bool
  var outputHasColors: Bool
  var outputWidth: Int
  /// Whether standard output is a file that only this user can read.
  var outputIsPrivate: Bool
  /// The number of columns of standard error; `nil` if it is not a terminal.
  var errorWidth: Int?
  /// Reads the available bytes of standard input; returns none at its end.
  var readPiece: @Sendable () throws(StorageError) -> Secret
  /// Asks the user for a line; returns it without its newline.
  var ask: @Sendable (String) throws(StorageError) -> String
  /// Asks the user for a line that is not shown; returns it without its newline.
  var askHidden: @Sendable (String) throws(StorageError) -> Secret
  var writeBytes: @Sendable (Secret) throws(StorageError) -> Void
  var writeError: @Sendable (Secret) -> Void
  /// Begins to record the signals that ask this process to end.
  var noteSignals: @Sendable () throws(StorageError) -> NotedSignals
  var now: @Sendable () -> Timestamp
}

extension Terminal {
  static var live: Terminal {
    Terminal(
      inputIsTerminal: isatty(STDIN_FILENO) == 1,
      canAsk: isatty(STDIN_FILENO) == 1 && hasControllingTerminal(),
      outputIsTerminal: isatty(STDOUT_FILENO) == 1,
      outputHasColors: mayShowColors(STDOUT_FILENO),
      outputWidth: columns(ofTerminal: STDOUT_FILENO) ?? 80,
      outputIsPrivate: isPrivateFile(STDOUT_FILENO), errorWidth: columns(ofTerminal: STDERR_FILENO),
      readPiece: { () throws(StorageError) in try nextPiece(of: STDIN_FILENO, "standard input") },
      ask: { question throws(StorageError) in try shownLine(asking: question, on: "/dev/tty") },
      askHidden: { question throws(StorageError) in try hiddenLine(asking: question, on: "/dev/tty")
      },
      writeBytes: { bytes throws(StorageError) in
        let failure = bytes.withBytes { writeAll($0, to: STDOUT_FILENO) }
        if failure == EPIPE {
          // A CI runner may have started kist with this signal ignored. The reader, such as `head`,
          // has read what it needed, so this is not an error to report.
          signal(SIGPIPE, SIG_DFL)
          raise(SIGPIPE)
        }
        guard failure == 0 else {
          throw StorageError(
            .internal, "standard output could not be written: \(systemText(of: failure))",
            hint: "the request was carried out; only its output is lost")
        }
      }, writeError: { _ = $0.withBytes { writeAll($0, to: STDERR_FILENO) } },
      noteSignals: { () throws(StorageError) in try notedSignals() }, now: Timestamp.now)
  }
}

/// Whether a descriptor is a terminal with colors, and NO_COLOR (no-color.org) is not set.
private func mayShowColors(_ descriptor: CInt) -> Bool {
  isatty(descriptor) == 1 && environmentVariable("TERM") ?? "dumb" != "dumb"
    && environmentVariable("NO_COLOR") ?? "" == ""
}

// All output of `kist` goes through these functions (`HouseTests`). They escape control and
// misleading characters, so that no text controls a terminal or imitates another line.
extension Terminal {
  func writeLines(_ lines: [String]) throws(StorageError) { try writeBytes(text(of: lines)) }

  /// Writes a line with tabs between its columns.
  ///
  /// On a terminal, escapes control and misleading characters. Elsewhere, escapes only control
  /// characters, which could begin another line or column.
  func writeColumns(_ columns: [String]) throws(StorageError) {
    let columns = columns.map { column in
      outputIsTerminal ? visible(column) : visible(column, escaping: \.isControl)
    }
    try writeBytes(Secret(utf8: columns.joined(separator: "\t") + "\n"))
  }

  /// Writes JSON on a line of standard output; escapes misleading characters as JSON does.
  func writeJSON(_ json: Secret) throws(StorageError) {
    try writeBytes(visible(json: json).withNewline)
  }

  /// Writes lines of text to standard output; the first begins with a word that may have a color.
  func writeLines(_ lines: [String], after word: String, color: Int) throws(StorageError) {
    let start = visible(word)
    try writeBytes(Secret(utf8: outputHasColors ? "\u{1B}[\(color)m\(start)\u{1B}[0m" : start))
    try writeLines(lines)
  }

  /// Reports success on a terminal; a program uses the exit status instead.
  func reportSuccess(_ what: String) throws(StorageError) {
    if outputIsTerminal { try writeLines(lines(what, to: outputWidth)) }
  }

  /// Prints the result of a command as JSON for a program, or reports success.
  func reportSuccess(
    _ what: String, or json: @autoclosure () -> Secret, asJSON: Bool
  ) throws(StorageError) {
    try asJSON ? writeJSON(json()) : reportSuccess(what)
  }

  /// Writes an element of a list as JSON, or in columns.
  func writeRow(
    _ columns: @autoclosure () -> [String], or json: @autoclosure () -> Secret, asJSON: Bool
  ) throws(StorageError) {
    try asJSON ? writeJSON(json()) : writeColumns(columns())
  }

  /// Asks the user a yes-or-no question; throws unless the answer is yes.
  func confirm(_ question: String, orElse notDone: String, hint: String) throws(StorageError) {
    guard ["y", "yes"].contains(try ask("\(question) [y/N] ").lowercased()) else {
      throw .refused(notDone, as: .denied, hint: hint)
    }
  }

  func report(_ error: StorageError, asJSON: Bool) {
    if asJSON { return writeError(error.jsonLine) }
    note(error.messageAndOutcome, hint: error.hint)
  }

  /// Prints a note and its hint for the user on standard error.
  func note(_ message: String, hint: String? = nil) {
    let texts = ["kist: \(message)"] + (hint.map { ["hint: \($0)"] } ?? [])
    writeErrorLines(texts.flatMap { lines($0, to: errorWidth, indent: 2) })
  }

  func writeErrorLines(_ lines: [String]) { writeError(text(of: lines)) }

  /// Escapes the control and misleading characters of a text, and splits the text into lines of
  /// this width.
  ///
  /// Without a width, returns one line. With an indent, each line except the first begins with this
  /// number of spaces.
  func lines(_ text: String, to width: Int?, indent: Int = 0) -> [String] {
    let text = visible(text)
    return width.map { wrapped(text, to: $0, indent: indent) } ?? [text]
  }

  /// Splits a help text into lines; on a terminal, they fit its width, from 40 columns.
  ///
  /// The parser does not wrap the usage, and indents words that then do not fit a narrow terminal.
  func lines(ofHelp help: String) -> [String] {
    help.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
      guard outputIsTerminal, String(line).terminalWidth > outputWidth else {
        return [String(line)]
      }
      let text = String(line.drop { $0 == " " })
      let parts = wrapped(text, to: outputWidth, indent: 2)
      guard parts.count == 1 else { return parts }
      return [String(repeating: " ", count: max(outputWidth - text.terminalWidth, 0)) + text]
    }
  }

  private func text(of lines: [String]) -> Secret {
    Secret(utf8: lines.map { visible($0) + "\n" }.joined())
  }
}

/// A progress bar without colors in the last line of standard error, if that is a terminal.
struct ProgressBar {
  private let terminal: Terminal
  private let what: String
  private var line = ""

  init(_ what: String, on terminal: Terminal) {
    self.terminal = terminal
    self.what = what
  }

  /// Shows the progress; shows nothing if everything is done at the first call.
  mutating func show(_ done: Int, of all: Int) {
    guard let width = terminal.errorWidth, done < all || !line.isEmpty else { return }
    // The numbers come from kistd and may have any value.
    let filled = Int(Double(barWidth) * min(1, max(0, Double(done) / Double(max(1, all)))))
    let bar =
      String(repeating: "#", count: filled) + String(repeating: " ", count: barWidth - filled)
    let new = String("\(what) [\(bar)] \(done) of \(all)".prefix(width - 1))
    guard new != line else { return }
    replaceLine(with: new)
  }

  mutating func clear() {
    guard !line.isEmpty, let width = terminal.errorWidth else { return }
    // The rest of the line may contain typed text, such as ^C.
    line = ""
    terminal.writeError(Secret(utf8: "\r" + String(repeating: " ", count: width - 1) + "\r"))
  }

  private mutating func replaceLine(with new: String) {
    let rest = String(repeating: " ", count: max(0, line.count - new.count))
    terminal.writeError(Secret(utf8: "\r\(new)\(rest)"))
    line = new
  }
}

private let barWidth = 24
