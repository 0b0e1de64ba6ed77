package import KistCore
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

  package init(
    inputIsTerminal: Bool, outputIsTerminal: Bool, outputHasColors: Bool, outputWidth: Int,
    outputIsPrivate: Bool, errorWidth: Int?,
    readPiece: @escaping @Sendable () throws(StorageError) -> Secret,
    ask: @escaping @Sendable (String) throws(StorageError) -> String,
    askHidden: @escaping @Sendable (String) throws(StorageError) -> Secret,
    writeBytes: @escaping @Sendable (Secret) throws(StorageError) -> Void,
    writeError: @escaping @Sendable (Secret) -> Void,
    noteSignals: @escaping @Sendable () throws(StorageError) -> NotedSignals,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.inputIsTerminal = inputIsTerminal
    self.outputIsTerminal = outputIsTerminal
    self.outputHasColors = outputHasColors
    self.outputWidth = outputWidth
    self.outputIsPrivate = outputIsPrivate
    self.errorWidth = errorWidth
    self.readPiece = readPiece
    self.ask = ask
    self.askHidden = askHidden
    self.writeBytes = writeBytes
    self.writeError = writeError
    self.noteSignals = noteSignals
    self.now = now
  }
}
