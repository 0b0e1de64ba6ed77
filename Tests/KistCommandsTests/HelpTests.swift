import ArgumentParser
import KistCore
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
