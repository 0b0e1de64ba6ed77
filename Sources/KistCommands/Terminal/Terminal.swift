internal import Glibc
package import KistCore
internal import KistSystem
package import KistTerminal

/// The input, output, user and time of a command.
package struct Terminal: Sendable {
  /// Whether standard input is a terminal, so that the user can be asked.
  package var inputIsTerminal: Bool
  /// Whether standard output is a terminal.
  package var outputIsTerminal: Bool
  /// Whether that terminal may show colors.
  package var outputHasColors: Bool
  /// The number of columns of that terminal.
  package var outputWidth: Int
  /// Whether standard output is a file that only this user can read.
  package var outputIsPrivate: Bool
  /// The number of columns of standard error; `nil` if it is not a terminal.
  package var errorWidth: Int?
  /// Reads the available bytes of standard input; returns none at its end.
  package var readPiece: @Sendable () throws(StorageError) -> Secret
  /// Asks the user for a line; returns it without its newline.
  package var ask: @Sendable (String) throws(StorageError) -> String
  /// Asks the user for a line that is not shown; returns it without its newline.
  package var askHidden: @Sendable (String) throws(StorageError) -> Secret
  /// Writes bytes to standard output.
  package var writeBytes: @Sendable (Secret) throws(StorageError) -> Void
  /// Writes text to standard error.
  package var writeError: @Sendable (Secret) -> Void
  /// Begins to record the signals that ask this process to end.
  package var noteSignals: @Sendable () throws(StorageError) -> NotedSignals
  /// Returns the current time.
  package var now: @Sendable () -> Timestamp
}

extension Terminal {
  /// The terminal and the streams of this process.
  package static var live: Terminal {
    Terminal(
      inputIsTerminal: isatty(STDIN_FILENO) == 1, outputIsTerminal: isatty(STDOUT_FILENO) == 1,
      outputHasColors: mayShowColors(STDOUT_FILENO),
      outputWidth: columns(ofTerminal: STDOUT_FILENO) ?? 80,
      outputIsPrivate: isPrivateFile(STDOUT_FILENO), errorWidth: columns(ofTerminal: STDERR_FILENO),
      readPiece: { () throws(StorageError) in try nextPiece(of: STDIN_FILENO, "standard input") },
      ask: { question throws(StorageError) in try shownLine(asking: question, on: "/dev/tty") },
      askHidden: { question throws(StorageError) in try hiddenLine(asking: question, on: "/dev/tty")
      },
      writeBytes: { bytes throws(StorageError) in
        let failure = bytes.withBytes { writeAll($0, to: STDOUT_FILENO) }
        guard failure == 0 else {
          throw StorageError(
            .internal, "standard output could not be written: \(systemText(of: failure))",
            hint: "what was asked for was carried out; only the output is lost")
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
