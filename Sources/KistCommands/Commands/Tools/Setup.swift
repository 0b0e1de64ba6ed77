internal import ArgumentParser
internal import KistCore
internal import KistInterop

struct Setup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the line that makes another tool ask kist.",
    usage: "kist setup <tool> [options]",
    discussion: """
      Changes nothing without --apply. With it, kist runs only the tool's own command.

        kist setup git --apply
      """)

  @Argument(help: "The tool to set up.")
  var tool: Tool

  @Flag(help: "Run the tool's own command, after showing it.")
  var apply = false

  func run() async throws {
    try perform(.live, in: .live, becoming: become)
  }

  /// Prints the setup lines; `become` replaces this process by a command, or returns why it fails.
  func perform(
    _ terminal: Terminal, in host: Host, becoming become: ([String]) -> StorageError
  ) throws(StorageError) {
    let setup = tool.setup(linkingTo: host.linkTarget)
    for line in setup.lines {
      terminal.writeErrorLines(["in \(line.place):"])
      try terminal.writeLines([line.text])
    }
    if let words = setup.command {
      if !setup.lines.isEmpty { terminal.writeErrorLines(["in a shell:"]) }
      try terminal.writeLines([words.joined(separator: " ")])
    }
    let missing = setup.program.flatMap { host.path(of: $0) == nil ? $0 : nil }
    if let missing {
      terminal.note(
        "there is no \(missing) on PATH, so the tool cannot ask kist",
        hint: host.hint(atMissing: missing))
    }
    guard let words = setup.command else {
      guard apply else { return }
      throw .refused(
        "kist cannot set up \(tool.rawValue) by itself",
        hint: "add each line at the place that is named above it")
    }
    if let asked = setup.asked {
      let helpers = host.lines(asked.command)
      if helpers.contains(asked.kist) {
        return terminal.note(
          missing == nil
            ? "\(tool.rawValue) asks kist already" : "\(tool.rawValue) is set to ask kist already")
      }
      if !helpers.isEmpty {
        if apply { throw asked.conflict }
        terminal.report(asked.conflict, asJSON: false)
      }
    }
    if apply { throw become(words) }
  }
}
