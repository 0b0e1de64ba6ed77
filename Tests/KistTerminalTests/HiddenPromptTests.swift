import Foundation
import Glibc
import KistCore
import KistTerminal
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A hidden prompt` {
  @Test func `reads a line that is not shown, and puts the echo back`() throws {
    let terminal = try PseudoTerminal()
    terminal.type("hunter2\n", after: "Secret: ")
    let line = try hiddenLine(asking: "Secret: ", on: terminal.path)
    #expect(line == Secret(utf8: "hunter2"))
    #expect(terminal.screenText == "Secret: ")
    #expect(terminal.echoes)
  }

  @Test func `asks with a question that the terminal does not obey`() throws {
    let terminal = try PseudoTerminal()
    terminal.type("hunter2\n", after: "Secret: ")
    let question = "\u{1B}[2J\u{202E}x\n\u{9B}2J. Secret: "
    _ = try hiddenLine(asking: question, on: terminal.path)
    #expect(terminal.screenText == #"\u{1b}[2J\u{202e}x\u{a}\u{9b}2J. Secret: "#)
  }

  @Test func `refuses a line that the terminal would cut`() throws {
    let terminal = try PseudoTerminal()
    terminal.type(String(repeating: "x", count: 5000) + "\n", after: "Secret: ")
    let error = #expect(throws: StorageError.self) {
      try hiddenLine(asking: "Secret: ", on: terminal.path)
    }
    #expect(error?.code == .tooLarge)
    #expect(terminal.screenText == "Secret: ")
    #expect(terminal.echoes)
  }

  @Test func `gives no secret when the input ends`() throws {
    let terminal = try PseudoTerminal()
    terminal.type("\u{4}", after: "Secret: ")
    #expect(throws: StorageError.self) { try hiddenLine(asking: "Secret: ", on: terminal.path) }
    #expect(terminal.screenText == "Secret: ")
    #expect(terminal.echoes)
  }

  @Test func `says that nothing was changed when the input ends`() throws {
    let terminal = try PseudoTerminal()
    terminal.type("hunter2\u{4}\u{4}", after: "Secret: ")
    let error = #expect(throws: StorageError.self) {
      try hiddenLine(asking: "Secret: ", on: terminal.path)
    }
    #expect(error?.message == "the prompt was ended without an answer")
    #expect(error?.hint?.hasPrefix("nothing was changed") == true)
  }

  // Ctrl-Z, and `fg`.
  @Test func `shows what is typed while it is stopped, and asks again afterwards`() async throws {
    let terminal = try PseudoTerminal()
    let path = terminal.path
    let person = Task.detached {
      let prompt = terminal.read(upTo: ": ")
      let process = try #require(pid_t(prompt.dropLast(2)))
      kill(process, SIGTSTP)
      while try !isStopped(process) { sched_yield() }
      #expect(terminal.echoes)
      kill(process, SIGCONT)
      #expect(terminal.read(upTo: ": ").hasSuffix(prompt))
      #expect(!terminal.echoes)
      terminal.type("hunter2\n")
    }
    await #expect(processExitsWith: .success) { [path = path as String] in
      // A process group of its own: one that nobody could continue is not stopped.
      setpgid(0, 0)
      let line = try hiddenLine(asking: "\(getpid()): ", on: path)
      #expect(line == Secret(utf8: "hunter2"))
    }
    try await person.value
    #expect(terminal.echoes)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `puts the echo back when a signal ends the process`(number: CInt) async throws {
    let terminal = try PseudoTerminal()
    let path = terminal.path
    await #expect(processExitsWith: .signal(number)) {
      [path = path as String, number = number as CInt] in
      let observer = unsafe open(path, O_RDWR | O_NOCTTY)
      Thread.detachNewThread {
        while PseudoTerminal.echoes(observer) { sched_yield() }
        kill(getpid(), number)
      }
      _ = try hiddenLine(asking: "Secret: ", on: path)
    }
    #expect(terminal.echoes)
  }

  @Test func `shows a line that is not secret`() throws {
    let terminal = try PseudoTerminal()
    terminal.type("yes\n", after: "Really? ")
    #expect(try shownLine(asking: "Really? ", on: terminal.path) == "yes")
    #expect(terminal.screenText == "Really? ")
    #expect(terminal.echoes)
  }

  @Test func `asks again after a stop, also if the line is shown`() async throws {
    let terminal = try PseudoTerminal()
    let path = terminal.path
    let person = Task.detached {
      let prompt = terminal.read(upTo: ": ")
      let process = try #require(pid_t(prompt.dropLast(2)))
      kill(process, SIGTSTP)
      while try !isStopped(process) { sched_yield() }
      kill(process, SIGCONT)
      #expect(terminal.read(upTo: ": ").hasSuffix(prompt))
      terminal.type("yes\n")
    }
    await #expect(processExitsWith: .success) { [path = path as String] in
      setpgid(0, 0)
      let line = try shownLine(asking: "\(getpid()): ", on: path)
      #expect(line == "yes")
    }
    try await person.value
  }

  @Test func `ends with a signal that somebody else notes, who hears of it`() async throws {
    let terminal = try PseudoTerminal()
    let path = terminal.path
    let person = Task.detached {
      let prompt = terminal.read(upTo: ": ")
      kill(try #require(pid_t(prompt.dropLast(2))), SIGINT)
    }
    await #expect(processExitsWith: .success) { [path = path as String] in
      let noted = try notedSignals()
      let error = #expect(throws: StorageError.self) {
        try shownLine(asking: "\(getpid()): ", on: path)
      }
      #expect(error?.message == "the prompt was ended without an answer")
      #expect(noted.first() == SIGINT)
      noted.end()
    }
    try await person.value
  }

  @Test func `ends with a signal that came before it to who notes signals`() async throws {
    let terminal = try PseudoTerminal()
    await #expect(processExitsWith: .success) { [path = terminal.path as String] in
      let noted = try notedSignals()
      noted.raiseUnblocked(SIGTERM)
      #expect(throws: StorageError.self) { try shownLine(asking: "Really? ", on: path) }
      #expect(noted.first() == SIGTERM)
      noted.end()
    }
  }

  @Test func `is refused where there is no terminal`() {
    let error = #expect(throws: StorageError.self) {
      try hiddenLine(asking: "Secret: ", on: "/dev/null")
    }
    #expect(error?.hint?.contains("pipe") == true)
  }
}

/// Whether a process is stopped by a signal: proc_pid_stat(5).
private func isStopped(_ process: pid_t) throws -> Bool {
  let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
  return stat.split(separator: ")").last?.hasPrefix(" T") == true
}
