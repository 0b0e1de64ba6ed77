import KistCore
import KistTesting
import Synchronization
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(5))) struct `kist lock` {
  struct Case: Sendable {
    var words: [String] = []
    var isTerminal = true
    /// What the user types, if there is a question.
    var typed: String?
    var unlocksWith = StorageStatus.Unlocking.provider
    var isLocked = false
    var output = ""
    var status: Int32 = 0
  }

  private static let locked = "locked the keyring, for every program\n"

  @Test(arguments: [
    Case(typed: "y", output: locked),
    Case(typed: "n", status: 6),
    Case(typed: "", status: 6),
    Case(words: ["--yes"], output: locked),
    Case(isTerminal: false),
    Case(isLocked: true, output: locked),
    Case(unlocksWith: .passphrase, output: "locked\n"),
    Case(unlocksWith: .keyFile, output: "locked\n"),
  ])
  func `asks before it locks an open keyring on a terminal, and in no other case`(
    _ example: Case
  ) async {
    let questions = Recorded<String>()
    let locks = Recorded<Bool>()
    let recorder = Recorder()
    var terminal = recorder.terminal(isTerminal: example.isTerminal)
    terminal.ask = { question throws(StorageError) in
      questions.add(question)
      return example.typed ?? ""
    }
    let state = StorageStatus(
      storage: "s", isLocked: example.isLocked, unlocksWith: example.unlocksWith,
      reopensAtRestart: true, durability: .memory, keyProtection: "nothing")
    var access = StorageAccess.unimplemented
    access.status = { () throws(StorageError) in state }
    access.lock = { () throws(StorageError) in
      locks.add(true)
      return state
    }
    let words = ["lock"] + example.words
    let status = await Kist.status(of: words, on: terminal) { [access, terminal] in
      try await ($0 as? any RequiresStorageAccess)?.perform(access, terminal)
    }
    #expect(status == example.status)
    let asked = "This locks the keyring for every program that uses it. Lock it? [y/N] "
    #expect(questions.all == (example.typed == nil ? [] : [asked]))
    #expect(locks.all == (status == 0 ? [true] : []))
    #expect(recorder.output == example.output)
    #expect(recorder.error.contains("nothing was locked") == (status != 0))
  }
}

/// The values that a closure of a test was called with.
private final class Recorded<Value: Sendable>: Sendable {
  private let values = Mutex<[Value]>([])
  var all: [Value] { values.withLock(\.self) }
  func add(_ value: Value) { values.withLock { $0.append(value) } }
}
