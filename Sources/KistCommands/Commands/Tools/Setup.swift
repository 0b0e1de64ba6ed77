package import ArgumentParser
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

  package func run() async throws { try perform(.live, becoming: become) }

  /// Shows the line.
  ///
  /// - Parameter become: runs a command in place of this one, and returns where it cannot.
  package func perform(
    _ terminal: Terminal, becoming become: ([String]) -> StorageError
  ) throws(StorageError) {
    switch tool.setup {
    case .command(let words):
      try terminal.write(words.joined(separator: " ") + "\n")
      if apply { throw become(words) }
    case .line(let line, let file):
      guard !apply else {
        throw StorageError(
          .badRequest, "\(tool.rawValue) has no command that does it; nothing was changed",
          hint: "put this into \(file): \(line)")
      }
      terminal.writeError(Secret(utf8: "in \(file):\n"))
      try terminal.write(line + "\n")
    }
  }
}
