import ArgumentParser
import Foundation
import KistCommands
import KistCore
import KistInterop
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The page about the command line` {
  private let page: String

  init() throws { page = try documentation("cli.md") }

  private func section(of command: String) throws -> Substring {
    try #require(page.split(separator: "\n## ").first { $0.hasPrefix("`kist \(command)`") })
  }

  @Test func `has every command with every option`() throws {
    let commands = Kist.configuration.subcommands.flatMap { command in
      ([command] + command.configuration.subcommands).map { (command._commandName, $0) }
    }
    try #require(commands.count > 20)
    for (name, command) in commands {
      let section = try section(of: name)
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
    try #require(names.count == 11)
    let section = try section(of: "status")
    for name in names {
      #expect(section.contains("\n\(name): "), "the session: \(name)")
      #expect(section.contains("\n| `\(name)` |"), "the table: \(name)")
    }
  }

  @Test func `has every subject of kist doctor`() async throws {
    let section = try section(of: "doctor")
    for fault in [nil] + Fault.allCases {
      var machine = Machine.healthy
      fault?.befall(&machine)
      let recorder = Recorder()
      let terminal = recorder.terminal()
      _ = await Kist.status(of: ["doctor"], on: terminal) { [machine] command in
        try await (command as? Doctor)?.perform(machine.checkup, terminal)
      }
      for line in recorder.output.split(separator: "\n") {
        let subject = line.split(separator: "\t")[1]
        #expect(section.contains("`\(subject)`"), "\(subject)")
      }
    }
  }

  @Test(arguments: ForeignFormat.allCases.map(\.rawValue) + ["pass", "kist"])
  func `has every source of kist import, and so has the page about moving`(name: String) throws {
    #expect(try section(of: "import").contains("`\(name)`"))
    #expect(try documentation("moving.md").contains("\n| `\(name)` |"))
  }

  @Test(arguments: StorageError.Code.allCases)
  func `has every exit status with its code`(code: StorageError.Code) {
    let row = page.split(separator: "\n").first { $0.hasPrefix("| \(code.exitStatus) |") }
    #expect(row?.contains("`\(code.rawValue)`") == true)
  }
}

private func documentation(_ page: String) throws -> String {
  let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  return try String(contentsOf: root.appending(path: "docs/" + page), encoding: .utf8)
}
