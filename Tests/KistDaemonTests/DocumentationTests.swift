import ArgumentParser
import Foundation
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The page about the daemon` {
  private let page: String

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    page = try String(contentsOf: root.appending(path: "docs/kistd.md"), encoding: .utf8)
  }

  private func options(of command: any ParsableCommand.Type) -> Set<Substring> {
    Set(command.helpMessage(columns: 200).matches(of: /--([a-z-]+)/).map(\.1))
      .subtracting(["version", "help"])
  }

  @Test func `has every option with its variable`() {
    // `--from`, `--to` and `--salvage` are options of commands. The last two have no variable.
    let options = options(of: Kistd.self)
      .subtracting(["from", "to", "salvage", "accept-rollback", "detach"])
    let rows = Set(page.matches(of: /(?m)^\| `--([a-z-]+)`.*`KISTD_/).map(\.1))
    #expect(rows == options)
    for option in options {
      let variable = "KISTD_" + option.uppercased().replacing("-", with: "_")
      #expect(page.contains("| `\(variable)` |"), "\(variable)")
    }
  }

  @Test func `has every command, with every option of it`() throws {
    let usage = try #require(Kistd.configuration.usage)
    #expect(page.contains("\n```\n\(usage)\n```\n"))
    let commands: [any ParsableCommand.Type] = [
      FsckCommand.self, KeyFileCommand.self, KeyringItemsCommand.self, MigrateCommand.self,
      ProbeCommand.self,
      RekeyCommand.self, RestoreCommand.self, VaultCommand.self,
    ]
    #expect(usage.matches(of: /kistd [a-z]/).count == commands.count)
    for command in commands {
      let name = try #require(command.configuration.commandName)
      #expect(usage.contains("\n\(name) "))
      for option in options(of: command) {
        let isThere = page.contains("`--\(option)`") || page.contains("`\(name) --\(option) ")
        #expect(isThere, "\(name) --\(option)")
      }
    }
  }
}
