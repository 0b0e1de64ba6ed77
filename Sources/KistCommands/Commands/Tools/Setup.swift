package import ArgumentParser
internal import KistClient
package import KistCore
package import KistInterop

package struct Setup: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "setup",
    abstract: "Show the line that makes another tool ask kist.",
    usage: "kist setup <tool> [options]",
    discussion: """
      Changes nothing without --apply, and then with the tool's own command only.

        kist setup git --apply
      """)

  @Argument(help: "The tool that is to ask.")
  package var tool: Tool

  @Flag(help: "Run the tool's own command, after showing it.")
  package var apply = false

  package init() {}

  package func run() async throws {
    try perform(
      .live, program: ownProgram(), finding: absolutePath(of:),
      printing: { linesPrinted(by: $0) }, becoming: become)
  }

  /// Shows the lines.
  ///
  /// - Parameters:
  ///   - own: the path of this program.
  ///   - path: where a program is along PATH.
  ///   - lines: the lines that a command prints.
  ///   - become: runs a command in place of this one, and returns where it cannot.
  package func perform(
    _ terminal: Terminal, program own: String, finding path: (String) -> String?,
    printing lines: ([String]) -> [String], becoming become: ([String]) -> StorageError
  ) throws(StorageError) {
    let kist = linkTarget(program: own, isOnPath: path("kist") != nil)
    let setup = tool.setup(linkingTo: kist)
    for line in setup.lines {
      terminal.writeError(Secret(utf8: "in \(line.place):\n"))
      try terminal.write(line.text + "\n")
    }
    if let words = setup.command {
      if !setup.lines.isEmpty { terminal.writeError(Secret(utf8: "in a shell:\n")) }
      try terminal.write(words.joined(separator: " ") + "\n")
    }
    if let program = setup.program, path(program) == nil {
      terminal.note(
        "there is no \(program) on PATH; without it kist is not asked",
        hint: hint(atMissing: program, linkingTo: kist))
    }
    guard let words = setup.command else {
      if apply { throw leftToDo }
      return
    }
    if let asked = setup.asked {
      let helpers = lines(asked.command)
      if helpers.contains(asked.kist) { return terminal.note("\(tool.rawValue) asks kist already") }
      if !helpers.isEmpty {
        if apply { throw asked.conflict }
        terminal.report(asked.conflict, asJSON: false)
      }
    }
    if apply { throw become(words) }
  }
}

extension Setup {
  private var leftToDo: StorageError {
    StorageError(
      .badRequest, "kist changes nothing of \(tool.rawValue) by itself",
      hint: "put each line where it is said above that it belongs", outcome: .unchanged)
  }
}

/// How the program is had by which a tool asks kist.
func hint(atMissing program: String, linkingTo kist: String) -> String {
  let command = linkCommand(program, in: "~/.local/bin", to: kist)
  return "make the link in a directory of PATH: `\(command)`"
}

/// What a link is made to, as a shell has it: the kist on PATH, or else this program.
func linkTarget(program: String, isOnPath: Bool) -> String {
  isOnPath ? #""$(command -v kist)""# : shellQuoted(program)
}
