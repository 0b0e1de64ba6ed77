internal import Glibc
internal import KistCore
internal import KistSystem

/// A program that encrypts for the recipients of an export: age(1) or gpg(1).
struct Encryption: Equatable {
  /// The program and its arguments.
  ///
  /// With them, it encrypts its standard input to its standard output.
  let words: [String]

  /// Chooses the program from the recipients: keys of gpg, or recipients of age.
  init(for recipients: [String]) throws(StorageError) {
    for recipient in recipients {
      guard let first = recipient.trimmingPrefix(gpgMark).first, first != "-" else {
        throw .badRequest(
          "a recipient of --encrypt is empty or begins with a dash",
          hint: "for a file whose name begins with a dash, write `./-…`")
      }
    }
    let keys = recipients.filter { $0.hasPrefix(gpgMark) }.map { $0.dropFirst(gpgMark.count) }
    if keys.isEmpty {
      var words = ["age", "--encrypt"]
      for recipient in recipients { words += try ageWords(for: recipient) }
      self.words = words
    } else if keys.count == recipients.count {
      // gpg would look for an unknown key on the network, and trust what it finds.
      words =
        ["gpg", "--batch", "--quiet", "--no-auto-key-locate", "--encrypt"]
        + keys.flatMap { ["--recipient", String($0)] }
    } else {
      throw .badRequest(
        "--encrypt has recipients of age and of gpg",
        hint: "export twice: once for age, once for gpg")
    }
  }
}

private let gpgMark = "gpg:"

/// Returns age's arguments for a public key, or for a file of public keys.
private func ageWords(for recipient: String) throws(StorageError) -> [String] {
  if recipient.hasPrefix("age1") || recipient.hasPrefix("ssh-") {
    return ["--recipient", recipient]
  }
  // Anything else could be a secret key by mistake, so age must not get it as an argument.
  guard unsafe access(recipient, R_OK) == 0 else {
    let failure = errno
    throw StorageError(
      StorageError.Code(failure: failure),
      "a recipient of --encrypt is neither a public key nor a readable file: "
        + systemText(of: failure),
      hint: "give `age1…`, `ssh-…`, `gpg:KEY` or the path of a file of age's public keys",
      outcome: .unchanged)
  }
  return ["--recipients-file", recipient]
}

/// A running program that encrypts the bytes that kist writes to it.
///
/// If this value is released before `finish`, the program is killed. Its output is then incomplete,
/// and cannot be read as a complete export.
struct EncryptingProgram: ~Copyable {
  private let name: String
  private let pid: pid_t
  private var input: CInt
  private let output: CInt
  private let messages: CInt
  private var isFinished = false
  /// Whether it ended before it had read everything.
  private var endedEarly = false

  /// Starts the program, which writes to a descriptor.
  init(_ encryption: Encryption, output: CInt) throws(StorageError) {
    let name = encryption.words[0]
    let program = try installedProgram(name)
    let input = try newPipe()
    defer { close(input.reading) }
    let messages: (reading: CInt, writing: CInt)
    do throws(StorageError) { messages = try newPipe() } catch {
      close(input.writing)
      throw error
    }
    defer { close(messages.writing) }
    // Messages that do not fit into the pipe are lost, so neither program waits for the other.
    _ = fcntl(messages.reading, F_SETFL, O_NONBLOCK)
    _ = fcntl(messages.writing, F_SETFL, O_NONBLOCK)
    do throws(CommandNotStarted) {
      pid = try startChild(
        [program] + encryption.words.dropFirst(), .unchanged, input: input.reading,
        output: output, error: messages.writing)
    } catch {
      close(input.writing)
      close(messages.reading)
      throw error.complaint
    }
    self.name = name
    self.output = output
    self.input = input.writing
    self.messages = messages.reading
    // A write to a program that has ended then fails with EPIPE, and does not end kist. The program
    // was started before, so it has the default action.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Writes bytes to the program; discards them if it has ended, which `finish` reports.
  mutating func append(_ bytes: Secret) throws(StorageError) {
    let failure = bytes.withBytes { writeAll($0, to: input) }
    endedEarly = endedEarly || failure == EPIPE
    guard failure == 0 || failure == EPIPE else {
      throw .refused("cannot write the export to \(name): \(systemText(of: failure))")
    }
  }

  /// Ends the input, waits until the program ends, and prints its messages.
  mutating func finish(_ terminal: Terminal) throws(StorageError) {
    isFinished = true
    close(input)
    let status = exitStatus(of: pid)
    let text = try? nextPiece(of: messages, "its messages").withBytes(String.init(repairing:))
    for line in (text ?? "").split(separator: "\n") {
      terminal.note("\(name): \(line.trimmingPrefix("\(name): "))")
    }
    guard status == 0 else {
      let reason =
        status == 128 + SIGPIPE
        ? "the program that reads the output ended before it had the whole export"
        : "the lines above give the reason"
      throw .refused(
        "\(name) did not encrypt the export: its status was \(status)", as: .unavailable,
        hint: "the export was not written; \(reason)")
    }
    let written = fileStatus(of: output)
    guard !endedEarly, !(written?.isKind(S_IFREG) ?? false) || written?.st_size != 0 else {
      throw .refused(
        "\(name) did not encrypt the export, although its status was 0", as: .unavailable,
        hint:
          "the export was not written; check that \(name) is the real program: `command -v \(name)`"
      )
    }
  }

  deinit {
    if !isFinished {
      kill(pid, SIGKILL)
      close(input)
      _ = exitStatus(of: pid)
    }
    close(messages)
    signal(SIGPIPE, SIG_DFL)
  }
}
