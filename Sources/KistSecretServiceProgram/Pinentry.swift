internal import Glibc
internal import KistCore
internal import KistSystem

/// The program pinentry, which asks the user in a window of its own.
struct Pinentry: Sendable {
  /// The absolute path.
  let program: String
  /// How long it may wait for the user.
  var patience: Duration = .seconds(300)

  /// Asks the user on a display; ends the program when the task is cancelled.
  func ask(_ dialog: Dialog, on display: Display) async -> DialogAnswer {
    guard let process = PinentryProcess(program, display, until: .now + patience) else {
      return .failed
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        startThread { continuation.resume(returning: process.ask(dialog)) }
      }
    } onCancel: {
      process.cancel()
    }
  }
}

/// A pinentry that runs, with the socket that is its standard input and output.
private final class PinentryProcess: Sendable {
  private let pid: pid_t
  private let socket: CInt
  private let deadline: ContinuousClock.Instant

  init?(_ program: String, _ display: Display, until deadline: ContinuousClock.Instant) {
    var ends: [CInt] = [-1, -1]
    guard
      unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0
    else { return nil }
    defer { close(ends[1]) }
    let (pid, failure) = unsafe withCStrings([program]) { words in
      unsafe withCStrings(display.variables) { variables in
        let variables = unsafe display.variables.indices.map { unsafe variables[$0]! }
        return unsafe withEnvironment(adding: variables) { environment in
          // In a session of its own, it cannot ask on the terminal of this process.
          unsafe spawn(
            words, environment,
            streams: [
              STDIN_FILENO: .descriptor(ends[1]), STDOUT_FILENO: .descriptor(ends[1]),
              STDERR_FILENO: .null,
            ],
            inOwnSession: true)
        }
      }
    }
    guard failure == 0 else {
      close(ends[0])
      return nil
    }
    (self.pid, socket, self.deadline) = (pid, ends[0], deadline)
  }

  deinit { close(socket) }

  /// Lets `ask` return soon.
  func cancel() { shutdown(socket, CInt(SHUT_RDWR)) }

  /// Asks the user, and ends the program.
  func ask(_ dialog: Dialog) -> DialogAnswer {
    defer {
      // A window does not end when its input does.
      kill(-pid, SIGKILL)
      _ = exitStatus(of: pid)
    }
    // Only the question waits for the user.
    var lines = AssuanLines(socket, until: min(deadline, .now + .seconds(25)))
    // The greeting.
    guard case .ok? = lines.reply() else { return .failed }
    for command in dialog.settings {
      guard lines.send(command), lines.reply() != nil else { return .failed }
    }
    lines.deadline = deadline
    guard lines.send(Assuan.line(dialog.command)) else { return .failed }
    var passphrase = WipedBytes()
    while true {
      switch lines.reply() {
      case .data(let part)?:
        guard passphrase.count + part.count <= Limits.passphrase else { return .failed }
        part.withBytes { passphrase.append($0) }
      case .ok?:
        return dialog.wantsPassphrase ? .passphrase(Secret(passphrase)) : .confirmed
      case .error(Assuan.Code.canceled)?, .error(Assuan.Code.fullyCanceled)?,
        .error(Assuan.Code.notConfirmed)?, .error(Assuan.Code.timeout)?:
        return .dismissed
      case .other?: continue
      case .error?: return .failed
      // The user did not answer in time, or the prompt was dismissed.
      case nil: return lines.isOver ? .dismissed : .failed
      }
    }
  }
}

extension Dialog {
  fileprivate var wantsPassphrase: Bool {
    if case .passphrase = kind { true } else { false }
  }

  /// The commands that prepare the window; pinentry may refuse those that it does not know.
  fileprivate var settings: [[UInt8]] {
    var lines = [Assuan.line("SETTITLE", "kist"), Assuan.line("SETDESC", text)]
    if window.hasPrefix("0x"), let number = UInt32(window.dropFirst(2), radix: 16) {
      lines.append(Assuan.line("OPTION", "parent-wid=\(number)"))
    }
    switch kind {
    case .passphrase(let wasWrong):
      lines.append(Assuan.line("SETPROMPT", "Passphrase:"))
      if wasWrong { lines.append(Assuan.line("SETERROR", "The passphrase is wrong. Try again.")) }
    case .confirmation(let button):
      lines += [Assuan.line("SETOK", button), Assuan.line("SETCANCEL", "Cancel")]
    case .message: break
    }
    return lines
  }

  fileprivate var command: String {
    switch kind {
    case .passphrase: "GETPIN"
    case .confirmation: "CONFIRM"
    case .message: "MESSAGE"
    }
  }
}

/// The lines that pinentry sends, up to a moment.
private struct AssuanLines: ~Copyable {
  private let socket: CInt
  var deadline: ContinuousClock.Instant
  private var received = WipedBytes(capacity: 4096)
  /// Whether the time is over.
  private(set) var isOver = false

  init(_ socket: CInt, until deadline: ContinuousClock.Instant) {
    (self.socket, self.deadline) = (socket, deadline)
  }

  func send(_ line: [UInt8]) -> Bool {
    unsafe Glibc.send(socket, line, line.count, CInt(MSG_NOSIGNAL)) == line.count
  }

  /// Returns the next reply; `nil` at the end of the output or of the time, and for too long a line.
  mutating func reply() -> Assuan.Reply? {
    while true {
      let reply = received.withBytes { bytes -> (Assuan.Reply, size: Int)? in
        guard let end = bytes.indices.first(where: { bytes[$0] == UInt8(ascii: "\n") }) else {
          return nil
        }
        return (Assuan.reply(bytes.extracting(..<end)), end + 1)
      }
      if let (reply, size) = reply {
        let rest = received.withBytes { Secret(copying: $0.extracting(size...)) }
        received.removeAll()
        rest.withBytes { received.append($0) }
        return reply
      }
      guard received.count <= 4 * Limits.passphrase, receive() else { return nil }
    }
  }

  private mutating func receive() -> Bool {
    while true {
      let rest = deadline - .now
      guard rest > .zero else {
        isOver = true
        return false
      }
      var events = [pollfd(fd: socket, events: Int16(POLLIN), revents: 0)]
      let ready = unsafe poll(&events, 1, CInt(clamping: Int64(rest / .milliseconds(1)) + 1))
      if ready < 0, errno != EINTR { return false }
      guard ready > 0 else { continue }
      let count = received.append(upTo: 2048) { output in
        unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
          let count = unsafe recv(socket, buffer.baseAddress, buffer.count, 0)
          filled = max(0, count)
          return count
        }
      }
      if count < 0, errno == EINTR { continue }
      return count > 0
    }
  }
}
