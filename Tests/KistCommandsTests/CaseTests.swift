import KistCore
import KistTesting
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `The command line` {
  @Test(arguments: Case.all)
  func `does what the cases say`(_ example: Case) async {
    let storage = UserStorage.inMemory(now: { .sample }).withKnownRevisions()
    let access = StorageAccess.inMemory()
    let slots = KeySlots.inMemory()
    for step in example.steps {
      let recorder = Recorder()
      let terminal = recorder.terminal(
        input: Secret(utf8: step.input), typed: step.typed, isTerminal: step.isTerminal,
        outputIsTerminal: step.hasTerminalOutput)
      let status = await Kist.status(of: step.arguments, on: terminal) { command in
        switch command {
        case _ where step.isDaemonless: try await Kist.runItself(command)
        case let command as any RequiresUserStorage:
          try await command.perform(storage, unlockedBy: access, terminal)
        case let command as any RequiresStorageAccess: try await command.perform(access, terminal)
        case let command as any RequiresKeySlots: try await command.perform(slots, terminal)
        case let command as any RequiresBackups:
          try await command.perform(.failing(.locked("the storage is locked")), terminal)
        case let command as any RequiresWatch: try await command.perform(.sample, terminal)
        case let command as any RequiresAuditLog:
          try await command.perform(sampleAuditLog, terminal)
        case let command as Helper:
          try await command.perform(storage, terminal, variable: { _ in nil })
        case let command as Setup:
          var machine = Machine.healthy
          machine.install("/usr/bin/git-credential-kist")
          machine.install("/usr/bin/docker-credential-kist")
          try command.perform(terminal, in: machine.host) { words in
            terminal.writeError(Secret(utf8: "becomes \(words.count) words\n"))
            return StorageError(.unavailable, "a test does not")
          }
        default: try await Kist.runItself(command)
        }
      }
      let comment = Comment(rawValue: step.arguments.joined(separator: " "))
      #expect(recorder.output == step.output, comment)
      #expect(recorder.error == step.error, comment)
      #expect(status == step.status, comment)
    }
  }
}
