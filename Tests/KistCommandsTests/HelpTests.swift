import ArgumentParser
import KistCore
import KistTerminal
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `What explains the command line` {
  @Test(arguments: [
    [], ["-h"], ["--help"], ["help"], ["help", "load"], ["load", "--help"], ["load", "s", "-h"],
    ["load", "--help", "--", "-path"],
  ])
  func `is written to standard output`(arguments: [String]) async {
    let recorder = Recorder()
    let status = await Kist.status(of: arguments, on: recorder.terminal())
    #expect(recorder.output.contains("USAGE: kist"))
    #expect(recorder.error.isEmpty)
    #expect(status == 0)
  }

  @Test(arguments: [nil] + Kist.configuration.subcommands.map { $0._commandName })
  func `fits into 80 columns`(verb: String?) {
    let command = Kist.configuration.subcommands.first { $0._commandName == verb }
    let help =
      command.map { Kist.helpMessage(for: $0, columns: 80) } ?? Kist.helpMessage(columns: 80)
    for line in help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    #expect(help.contains("USAGE: kist \(verb ?? "<subcommand>")"))
  }

  @Test(arguments: [nil] + Kist.configuration.subcommands.map { $0._commandName })
  func `fits a terminal of 40 columns, with its examples as they are`(verb: String?) {
    let command = Kist.configuration.subcommands.first { $0._commandName == verb } ?? Kist.self
    let terminal = Recorder().terminal(isTerminal: true, width: 40)
    let lines = terminal.lines(ofHelp: Kist.helpMessage(for: command, columns: 40))
    for line in lines { #expect(line.terminalWidth <= 40, "\(line)") }
    let examples = command.configuration.discussion.split(separator: "\n").map(String.init)
      .filter { $0.hasPrefix("  ") }
    #expect(!examples.isEmpty)
    for example in examples { #expect(lines.contains(example), "\(example)") }
  }

  @Test func `says that a keyring is locked for every program`() async {
    let recorder = Recorder()
    _ = await Kist.status(of: ["lock", "--help"], on: recorder.terminal())
    #expect(recorder.output.contains("for every program that uses it"))
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func `completes it in a shell`(shell: String) async {
    for arguments in [
      ["--generate-completion-script", shell], ["--generate-completion-script=\(shell)"],
    ] {
      let recorder = Recorder()
      let status = await Kist.status(of: arguments, on: recorder.terminal())
      #expect(recorder.output.contains("allow-expired"))
      #expect(status == 0)
    }
  }
}
