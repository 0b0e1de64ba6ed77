package import KistCore
package import KistTerminal

/// What a command has of the world beside its storage: input, output, a person and the time.
package struct Terminal: Sendable {
  /// Whether standard input is a terminal, so that a person can be asked.
  package var inputIsTerminal: Bool
  /// Whether standard output is a terminal, so that a person reads it.
  package var outputIsTerminal: Bool
  /// Whether that terminal may show colors.
  package var outputHasColors: Bool
  /// How many columns that terminal has.
  package var outputWidth: Int
  /// Whether standard output is a file that nobody but this user can read.
  package var outputIsPrivate: Bool
  /// How many columns standard error has; `nil` where it is no terminal.
  package var errorWidth: Int?
  /// Reads the next bytes of standard input, as many as there are; none at its end.
  package var readPiece: @Sendable () throws(StorageError) -> Secret
  /// Asks a person for a line; the newline is not part of it.
  package var ask: @Sendable (String) throws(StorageError) -> String
  /// Asks a person for a line that is not shown; the newline is not part of it.
  package var askHidden: @Sendable (String) throws(StorageError) -> Secret
  /// Writes bytes to standard output.
  package var writeBytes: @Sendable (Secret) throws(StorageError) -> Void
  /// Writes text to standard error.
  package var writeError: @Sendable (Secret) -> Void
  /// From now on, notes the signals that ask this process to end.
  package var noteSignals: @Sendable () throws(StorageError) -> NotedSignals
  /// The present.
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
