import KistCore
import KistTesting
import Synchronization
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `A save at a terminal` {
  @Test(arguments: [
    StorageError(.unavailable, "no kistd is listening"), StorageError(.locked, "it is locked"),
  ])
  func `asks for no secret that could not be saved`(failure: StorageError) async {
    var storage = UserStorage.unimplemented
    storage.find = { _ throws(StorageError) in throw failure }
    let recorder = Recorder()
    var terminal = recorder.terminal(isTerminal: true)
    let prompts = Mutex(0)
    terminal.askHidden = { _ throws(StorageError) in
      prompts.withLock { $0 += 1 }
      return Secret(utf8: "hunter2")
    }
    let status = await save(to: storage, at: terminal)
    #expect(status == failure.code.exitStatus)
    #expect(recorder.error == "kist: \(failure.message)\n")
    #expect(prompts.withLock { $0 } == 0)
  }

  @Test(arguments: [
    (["save", ""], "the service is empty", 64),
    (["save", "s", "a\tb"], "the account has a control character in it", 64),
    (["save", "s", "--label", "a\u{1B}b"], "the label has a control character in it", 64),
    (["save", "there", "--if-absent"], "the credential exists already", 3),
    (["save", "s", "--if-revision", "r.1"], "the credential does not exist", 3),
    (["save", "there", "--attribute", "a=1"], "there are 65 attributes; the limit is 64", 9),
  ]) func `asks for no secret that would be refused`(
    _ words: [String], because reason: String, status expected: CInt
  ) async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let full = Attributes(Dictionary(uniqueKeysWithValues: (1...64).map { ("name \($0)", "") }))
    try await storage.save(
      .sample(CredentialKey(service: "there"), secret: "hunter2", attributes: full))
    let recorder = Recorder()
    let status = await save(words, to: storage, at: recorder.terminal(isTerminal: true))
    #expect(status == expected)
    #expect(recorder.error.hasPrefix("kist: \(reason)\n"), "\(recorder.error)")
  }

  @Test func `asks once for a secret that is empty`() async {
    let recorder = Recorder()
    let terminal = recorder.terminal(typed: [""], isTerminal: true)
    let status = await save(to: .inMemory(now: { .sample }), at: terminal)
    #expect(status == 64)
    #expect(recorder.error.hasPrefix("kist: the secret is empty\n"), "\(recorder.error)")
  }

  @Test func `is one request where the secret is piped in`() async {
    var storage = UserStorage.unimplemented
    storage.save = { _ throws(StorageError) in throw .locked("it is locked") }
    let status = await save(to: storage, at: Recorder().terminal(input: Secret(utf8: "hunter2")))
    #expect(status == StorageError.Code.locked.exitStatus)
  }

  private func save(
    _ words: [String] = ["save", "s"], to storage: UserStorage, at terminal: Terminal
  ) async -> Int32 {
    await Kist.status(of: words, on: terminal) { command in
      try await (command as? any RequiresUserStorage)?.perform(storage, terminal)
    }
  }
}
