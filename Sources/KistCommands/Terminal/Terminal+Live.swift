internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistTerminal

extension Terminal {
  /// The terminal and the streams of this process.
  package static var live: Terminal {
    Terminal(
      inputIsTerminal: isatty(STDIN_FILENO) == 1,
      outputIsTerminal: isatty(STDOUT_FILENO) == 1,
      outputHasColors: mayShowColors(STDOUT_FILENO),
      outputWidth: columns(ofTerminal: STDOUT_FILENO) ?? 80,
      outputIsPrivate: isPrivateFile(STDOUT_FILENO),
      errorWidth: columns(ofTerminal: STDERR_FILENO),
      readPiece: { () throws(StorageError) in try nextPiece(of: STDIN_FILENO, "standard input") },
      ask: { question throws(StorageError) in try shownLine(asking: question, on: "/dev/tty") },
      askHidden: { question throws(StorageError) in try hiddenLine(asking: question, on: "/dev/tty")
      },
      writeBytes: { bytes throws(StorageError) in
        let failure = writeAll(bytes, to: STDOUT_FILENO)
        guard failure == 0 else {
          throw StorageError(
            .internal, "standard output could not be written: \(systemText(of: failure))",
            hint: "what was asked for was carried out; only the output is lost")
        }
      },
      writeError: { bytes in _ = writeAll(bytes, to: STDERR_FILENO) },
      noteSignals: { () throws(StorageError) in try notedSignals() },
      now: Timestamp.now)
  }
}

/// Whether a descriptor is a terminal with colors, and the user has not turned them off.
///
/// The user turns them off with NO_COLOR (no-color.org).
private func mayShowColors(_ descriptor: CInt) -> Bool {
  isatty(descriptor) == 1 && environmentVariable("TERM") ?? "dumb" != "dumb"
    && environmentVariable("NO_COLOR") ?? "" == ""
}
