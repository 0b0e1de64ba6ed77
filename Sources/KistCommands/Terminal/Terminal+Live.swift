internal import Glibc
internal import KistClient
internal import KistCore

extension Terminal {
  /// The terminal and the streams of this process.
  package static var live: Terminal {
    Terminal(
      inputIsTerminal: isatty(STDIN_FILENO) == 1,
      outputIsTerminal: isatty(STDOUT_FILENO) == 1,
      outputWidth: width(of: STDOUT_FILENO),
      readPiece: { () throws(StorageError) in try nextPiece(of: STDIN_FILENO) },
      ask: { question throws(StorageError) in try shownLine(asking: question, on: "/dev/tty") },
      askHidden: { question throws(StorageError) in try hiddenLine(asking: question, on: "/dev/tty")
      },
      writeBytes: { bytes throws(StorageError) in
        let failure = writeAll(bytes, to: STDOUT_FILENO)
        guard failure == 0 else {
          throw StorageError(
            .internal, "standard output could not be written: \(describe(failure))",
            hint: "what was asked for was carried out; only the output is lost")
        }
      },
      writeError: { bytes in _ = writeAll(bytes, to: STDERR_FILENO) },
      now: Timestamp.now)
  }
}

/// How many columns a terminal has, 80 where it does not say: TIOCGWINSZ(2const).
private func width(of terminal: CInt) -> Int {
  var size = winsize()
  guard unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
  return Int(size.ws_col)
}

/// Reads what a stream has, at most 64 KiB; nothing at its end.
private func nextPiece(of descriptor: CInt) throws(StorageError) -> Secret {
  var bytes = WipedBytes(capacity: 4 << 10)
  while true {
    let count = bytes.append(upTo: 64 << 10) { free in
      unsafe free.withUnsafeMutableBufferPointer { buffer, initializedCount in
        let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
        initializedCount = max(count, 0)
        return count
      }
    }
    if count >= 0 { return Secret(bytes) }
    guard errno == EINTR else {
      throw StorageError(
        .badRequest, "standard input could not be read: \(describe(errno))", outcome: .unchanged)
    }
  }
}

/// Writes all of it; an error number, or 0.
private func writeAll(_ bytes: Secret, to descriptor: CInt) -> CInt {
  bytes.withBytes { bytes in
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.extracting(written...).withUnsafeBufferPointer { rest in
        unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
      }
      if count >= 0 { written += count } else if errno != EINTR { return errno }
    }
    return 0
  }
}
