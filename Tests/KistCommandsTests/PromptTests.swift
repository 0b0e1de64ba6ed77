import KistCommands
import KistCore
import KistTesting
import Synchronization
import Testing

@Suite struct `A save at a terminal` {
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

  @Test func `is one request where the secret is piped in`() async {
    var storage = UserStorage.unimplemented
    storage.save = { _ throws(StorageError) in throw .locked("it is locked") }
    let status = await save(to: storage, at: Recorder().terminal(input: Secret(utf8: "hunter2")))
    #expect(status == StorageError.Code.locked.exitStatus)
  }

  private func save(to storage: UserStorage, at terminal: Terminal) async -> Int32 {
    await Kist.status(of: ["save", "s"], on: terminal) { command in
      try await (command as? any RequiresUserStorage)?.perform(storage, terminal)
    }
  }
}
