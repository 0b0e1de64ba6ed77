import ArgumentParser
import Foundation
import KistCore
import KistInterop
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `The page about the command line` {
  private let page: String

  init() throws { page = try documentation("cli.md") }

  private func section(of command: String, in page: String) throws -> Substring {
    let sections = page.split(separator: /\n##+\s/)
    return try #require(sections.first { $0.hasPrefix("`kist \(command)`") }, "\(command)")
  }

  /// The options of a command and of its own commands, as their help lists them.
  private func options(of command: any ParsableCommand.Type) -> Set<String> {
    ([command] + command.configuration.subcommands).reduce(into: []) { options, command in
      let help = Kist.helpMessage(for: command, columns: 200)
      // A line of the list of options begins with an option.
      options.formUnion(help.matches(of: /(?m)^  (?:-\w, )?(--[a-z-]+)/).map { String($0.1) })
    }
  }

  /// The options in the first column of the table of a section; none without the section.
  private func options(inSection title: String) -> Set<String> {
    let section = page.split(separator: /\n##+\s/).first { $0.hasPrefix(title + "\n") } ?? ""
    return Set(
      section.matches(of: /(?m)^\| (?:`-\w`, )?`(--[a-z-]+)`/).map { String($0.1) })
  }

  private static let common: Set = ["--json", "--socket", "--no-prompt", "--version", "--help"]

  @Test(arguments: Kist.configuration.subcommands.map { $0._commandName })
  func `lists exactly the options that the help of each command lists`(name: String) throws {
    let command = try #require(Kist.configuration.subcommands.first { $0._commandName == name })
    let options = options(of: command)
    #expect(options.contains("--help"))
    #expect(options.subtracting(Self.common) == self.options(inSection: "`kist \(name)`"))
  }

  @Test func `lists the options of every command, and the commands without some of them`() throws {
    #expect(options(inSection: "Options of every command") == Self.common)
    let prompting = try #require(page.firstMatch(of: /\| `--no-prompt` \| of (.*?):/)).1
    let named = prompting.matches(of: /`([a-z]+)`/).map { String($0.1) }
    #expect(Set(named) == Set(commands { $0.contains("--no-prompt") }))
    for option in ["--json", "--socket"] {
      #expect(commands { !$0.contains(option) } == ["helper", "setup"], "\(option)")
    }
  }

  /// The names of the commands whose options fulfil a condition.
  private func commands(_ condition: (Set<String>) -> Bool) -> [String] {
    var names: [String] = []
    for command in Kist.configuration.subcommands where condition(options(of: command)) {
      names.append(command._commandName)
    }
    return names
  }

  @Test(arguments: Kist.configuration.subcommands.map { $0._commandName })
  func `names the page with the section of each command`(command: String) throws {
    let row = try #require(page.firstRange(of: "\n| [`kist \(command)`]("))
    let name = String(page[row.upperBound...].prefix { $0 != "#" })
    #expect(try documentation(name).contains("\n## `kist \(command)`\n"))
  }

  @Test func `has every name that the status prints`() async throws {
    let recorder = Recorder()
    let terminal = recorder.terminal()
    _ = await Kist.status(of: ["status"], on: terminal) { command in
      try await (command as? any RequiresStorageAccess)?.perform(.inMemory(), terminal)
    }
    let names = recorder.output.split(separator: "\n").compactMap { $0.split(separator: ":").first }
    try #require(names.count == 11)
    let section = try section(of: "status", in: documentation("manage.md"))
    for name in names {
      #expect(section.contains("\n\(name): "), "the session: \(name)")
      #expect(section.contains("\n| `\(name)` |"), "the table: \(name)")
    }
  }

  @Test func `has every subject of kist doctor`() async throws {
    let section = try section(of: "doctor", in: documentation("manage.md"))
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
  func `names every source of kist import in the text and the table about it`(name: String) throws {
    let moving = try documentation("moving.md")
    #expect(try section(of: "import", in: moving).contains("`\(name)`"))
    #expect(moving.contains("\n| `\(name)` |"))
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
