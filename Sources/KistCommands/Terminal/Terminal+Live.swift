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
      readInput: { limit throws(StorageError) in try readAll(of: STDIN_FILENO, upTo: limit) },
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

/// Reads a stream to its end, or to one byte more than the limit.
private func readAll(of descriptor: CInt, upTo limit: Int) throws(StorageError) -> Secret {
  var bytes = WipedBytes(capacity: 4 << 10)
  while bytes.count <= limit {
    let count = bytes.append(upTo: min(limit + 1 - bytes.count, 64 << 10)) { free in
      unsafe free.withUnsafeMutableBufferPointer { buffer, initializedCount in
        let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
        initializedCount = max(count, 0)
        return count
      }
    }
    if count == 0 { break }
    if count < 0, errno != EINTR {
      throw StorageError(
        .badRequest, "standard input could not be read: \(describe(errno))", outcome: .unchanged)
    }
  }
  return Secret(bytes)
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
