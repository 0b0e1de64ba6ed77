import Foundation
import Glibc
import KistCommands
import KistCore
import Testing

@Suite(.timeLimit(.minutes(1))) struct `A hidden prompt` {
  @Test func `reads a line that is not shown, and puts the echo back`() throws {
    let terminal = try PseudoTerminal()
    terminal.type("hunter2\n", after: "Secret: ")
    let line = try hiddenLine(asking: "Secret: ", on: terminal.path)
    #expect(line == Secret(utf8: "hunter2"))
    #expect(terminal.screenText == "Secret: ")
    #expect(terminal.echoes)
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

  @Test func `is refused where there is no terminal`() {
    let error = #expect(throws: StorageError.self) {
      try hiddenLine(asking: "Secret: ", on: "/dev/null")
    }
    #expect(error?.hint?.contains("pipe") == true)
  }
}
