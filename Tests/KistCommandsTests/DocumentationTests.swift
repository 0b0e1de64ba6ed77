import ArgumentParser
import Foundation
import KistCommands
import KistCore
import Testing

@Suite struct `The page about the command line` {
  private let page: String

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    page = try String(contentsOf: root.appending(path: "docs/cli.md"), encoding: .utf8)
  }

  @Test func `has every command with every option`() throws {
    let commands = Kist.configuration.subcommands.flatMap { command in
      ([command] + command.configuration.subcommands).map { (command._commandName, $0) }
    }
    try #require(commands.count == 22)
    for (name, command) in commands {
      let section = try #require(
        page.split(separator: "\n## ").first { $0.hasPrefix("`kist \(name)") })
      let help = Kist.helpMessage(for: command, columns: 200)
      let options = Set(help.matches(of: /--[a-z-]+/).map { String($0.output) })
        .subtracting(["--json", "--socket", "--no-prompt", "--version", "--help"])
      for option in options { #expect(section.contains("`\(option)"), "\(name) \(option)") }
    }
    for option in ["--json", "--socket", "--no-prompt", "--version", "--help"] {
      #expect(page.contains("`\(option)"), "\(option)")
    }
  }

  @Test func `has every name that the status prints`() async throws {
    let recorder = Recorder()
    let terminal = recorder.terminal()
    _ = await Kist.status(of: ["status"], on: terminal) { command in
      try await (command as? any RequiresStorageAccess)?.perform(.inMemory(), terminal)
    }
    let names = recorder.output.split(separator: "\n").compactMap { $0.split(separator: ":").first }
    try #require(names.count == 10)
    let section = try #require(
      page.split(separator: "\n## ").first { $0.hasPrefix("`kist status`") })
    for name in names {
      #expect(section.contains("\n\(name): "), "the session: \(name)")
      #expect(section.contains("\n| `\(name)` |"), "the table: \(name)")
    }
  }

  @Test(arguments: StorageError.Code.allCases)
  func `has every exit status with its code`(code: StorageError.Code) {
    let row = page.split(separator: "\n").first { $0.hasPrefix("| \(code.exitStatus) |") }
    #expect(row?.contains("`\(code.rawValue)`") == true)
  }
}
