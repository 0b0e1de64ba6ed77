import KistCore
import KistTesting
import Synchronization
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `A locked storage` {
  private static let commands = [
    ["save", "s", "--generate", "8", "--yes"], ["load", "s"], ["delete", "s"], ["list"],
  ]

  @Test(arguments: commands, ["", "y", "Yes"])
  func `is unlocked after the user agrees, and the request is repeated`(
    arguments: [String], answer: String
  ) async {
    let world = World(unlocksWith: .keyFile)
    #expect(await world.run(arguments, typing: [answer]) == 0)
    #expect(world.passphrases == [nil])
  }

  @Test(arguments: commands)
  func `is unlocked with the passphrase that it needs`(arguments: [String]) async {
    let world = World(unlocksWith: .passphrase)
    #expect(await world.run(arguments, typing: ["correct horse"]) == 0)
    #expect(world.passphrases == [Secret(utf8: "correct horse")])
  }

  @Test func `stays locked without a question if its key file does not open it`() async {
    let world = World(unlocksWith: .keyFile, reopensAtRestart: false)
    #expect(await world.run(["list"], typing: []) == 5)
    #expect(world.questions.isEmpty && world.passphrases.isEmpty)
  }

  @Test(arguments: [.passphrase, .keyFile, .provider] as [StorageStatus.Unlocking])
  func `stays locked without a question if it is damaged`(way: StorageStatus.Unlocking) async {
    let world = World(unlocksWith: way, problem: StorageError(.corrupt, "an older copy"))
    #expect(await world.run(["list"], typing: []) == 5)
    #expect(world.questions.isEmpty && world.passphrases.isEmpty)
  }

  @Test func `stays locked without a terminal of this session, as in su --command`() async {
    let recorder = Recorder()
    var terminal = recorder.terminal(isTerminal: true)
    terminal.canAsk = false
    let status = await Kist.status(of: ["list"], on: terminal) { command in
      try await (command as? any RequiresUserStorage)?
        .perform(.failing(.locked("the storage is locked")), unlockedBy: .inMemory(), terminal)
    }
    #expect(status == 5)
    #expect(recorder.error.hasPrefix("kist: the storage is locked\n"), "\(recorder.error)")
  }

  @Test func `is unlocked by its provider's own prompt`() async {
    let world = World(unlocksWith: .provider)
    #expect(await world.run(["load", "s"], typing: ["y"]) == 0)
    #expect(world.passphrases == [nil])
  }

  @Test(arguments: [.keyFile, .provider] as [StorageStatus.Unlocking])
  func `is unlocked without a question where no passphrase is needed and it was asked for`(
    way: StorageStatus.Unlocking
  ) async {
    let world = World(unlocksWith: way)
    #expect(await world.run(["unlock"], typing: []) == 0)
    #expect(world.passphrases == [nil])
    #expect(world.questions.isEmpty)
  }

  @Test(
    arguments: [
      (.keyFile, "n"), (.provider, "n"), (.keyFile, "what?"), (.passphrase, ""),
    ] as [(StorageStatus.Unlocking, String)])
  func `stays locked where the person gives no consent`(
    way: StorageStatus.Unlocking, answer: String
  ) async {
    let world = World(unlocksWith: way)
    #expect(
      await world.run(["load", "s"], typing: [answer]) == StorageError.Code.locked.exitStatus)
    #expect(world.passphrases.isEmpty)
  }

  @Test(
    arguments: [
      // kistd has its key again, so the message of the error would be wrong.
      (.keyFile, "The storage is locked. Unlock the encrypted file? kistd has its key. [Y/n] "),
      (
        .provider,
        "The key file is missing. Unlock the keyring? Its program asks for its password. [Y/n] "
      ),
      (.passphrase, "The key file is missing. Passphrase of the encrypted file: "),
    ] as [(StorageStatus.Unlocking, String)])
  func `reports why it is locked, and names what it unlocks, before it asks`(
    way: StorageStatus.Unlocking, question: String
  )
    async
  {
    let world = World(unlocksWith: way)
    _ = await world.run(["load", "s"], typing: ["n"])
    #expect(world.questions == [question])
  }

  @Test func `stays locked with a wrong passphrase`() async {
    let world = World(unlocksWith: .passphrase)
    let status = await world.run(["load", "s"], typing: ["wrong"])
    #expect(status == StorageError.Code.wrongPassphrase.exitStatus)
  }

  @Test(arguments: commands)
  func `is an error without a question where nobody is there, or nobody wants to be asked`(
    arguments: [String]
  ) async {
    let world = World(unlocksWith: .keyFile)
    let locked = StorageError.Code.locked.exitStatus
    #expect(await world.run(arguments, typing: ["y"], isTerminal: false) == locked)
    #expect(await world.run(arguments + ["--no-prompt"], typing: ["y"]) == locked)
    #expect(world.passphrases.isEmpty)
  }

  @Test func `repeats the request once`() async {
    let world = World(unlocksWith: .keyFile, staysLocked: true)
    let status = await world.run(["load", "s"], typing: ["y", "y"])
    #expect(status == StorageError.Code.locked.exitStatus)
    #expect(world.passphrases == [nil])
  }
}

/// The storage is locked at the beginning, and once more when 64 of 130 were saved.
@Suite(.timeLimit(.minutes(10))) struct `An import while its storage is locked` {
  private static let file = Secret(
    utf8: (1...130).map { "machine m\($0) login a password p\n" }.joined())
  private let world = World(unlocksWith: .passphrase, locksAtSave: 64)

  private func run(typing: String..., signals: @escaping @Sendable () -> CInt? = { nil }) async
    -> CInt
  {
    await world.run(
      ["import", "netrc", "-", "--yes"], reading: Self.file, typing: typing, signals: signals)
  }

  @Test func `asks once for all that is locked together`() async {
    #expect(await run(typing: "correct horse", "correct horse") == 0)
    #expect(world.questions.count == 2)
  }

  @Test func `asks nobody again who did not unlock it`() async {
    #expect(await run(typing: "correct horse", "", "correct horse") == 5)
    #expect(world.questions.count == 2)
    #expect(world.error.contains("kist: the key file is missing; 64 of 130 were saved\n"))
  }

  @Test func `does not say that nothing was changed where something was`() async {
    #expect(await run(typing: "correct horse", "wrong") == 11)
    #expect(
      world.error.hasSuffix(
        """
        kist: the passphrase is wrong; 64 of 130 were saved
        hint: run the import again to continue; it saves nothing twice

        """))
  }

  @Test func `ends with the signal that ends the prompt`() async {
    let comes = Mutex(true)
    let status = await run(
      typing: "correct horse",
      signals: { [world] in
        world.questions.count == 2 && comes.withLock { exchange(&$0, with: false) } ? 2 : nil
      })
    #expect(status == 7)
    #expect(world.questions.count == 2)
    #expect(world.error.contains("kist: interrupted: 64 of 130 were saved\n"))
    #expect(world.error.contains("signal 2\n"))
  }
}

/// A storage with one credential, that is locked, and what it was unlocked with.
private final class World: Sendable {
  private let tried = Mutex<[Secret?]>([])
  private let asked = Mutex<[String]>([])
  private let isLocked = Mutex(true)
  private let saves = Mutex(0)
  private let status: StorageStatus
  private let staysLocked: Bool
  private let locksAtSave: Int?
  private let recorder = Recorder()

  /// - Parameter locksAtSave: how many were saved when it is locked once more.
  init(
    unlocksWith way: StorageStatus.Unlocking, reopensAtRestart: Bool = true,
    problem: StorageError? = nil, staysLocked: Bool = false, locksAtSave: Int? = nil
  ) {
    status = StorageStatus(
      storage: "memory", isLocked: true, unlocksWith: way, reopensAtRestart: reopensAtRestart,
      durability: .disk, keyProtection: "nothing", problem: problem)
    self.staysLocked = staysLocked
    self.locksAtSave = locksAtSave
  }

  var error: String { recorder.error }

  var passphrases: [Secret?] { tried.withLock { $0 } }

  var questions: [String] { asked.withLock { $0 } }

  func run(
    _ arguments: [String], reading input: Secret = Secret(utf8: ""), typing: [String],
    isTerminal: Bool = true, signals: @escaping @Sendable () -> CInt? = { nil }
  ) async -> Int32 {
    let memory = UserStorage.inMemory(now: { .sample })
    _ = try? await memory.save(
      NewCredential(key: CredentialKey(service: "s"), secret: Secret(utf8: "hunter2")))
    let storage = UserStorage(
      save: { request throws(StorageError) in
        try self.check()
        let saved = try await memory.save(request)
        let count = self.saves.withLock { saves in
          saves += 1
          return saves
        }
        if count == self.locksAtSave { self.isLocked.withLock { $0 = true } }
        return saved
      },
      load: { request throws(StorageError) in
        try self.check()
        return try await memory.load(request)
      },
      delete: { request throws(StorageError) in
        try self.check()
        return try await memory.delete(request)
      },
      find: { query throws(StorageError) in
        try self.check()
        return try await memory.find(query)
      })
    var terminal = recorder.terminal(
      input: input, typed: typing, isTerminal: isTerminal, signals: signals)
    terminal.ask = { [ask = terminal.ask] question throws(StorageError) in
      self.asked.withLock { $0.append(question) }
      return try ask(question)
    }
    terminal.askHidden = { [askHidden = terminal.askHidden] question throws(StorageError) in
      self.asked.withLock { $0.append(question) }
      return try askHidden(question)
    }
    return await Kist.status(of: arguments, on: terminal) { [access, terminal] command in
      try await (command as? any RequiresUserStorage)?
        .perform(storage, unlockedBy: access, terminal)
      try await (command as? any RequiresStorageAccess)?.perform(access, terminal)
    }
  }

  private func check() throws(StorageError) {
    if isLocked.withLock({ $0 }) { throw .locked("the key file is missing") }
  }

  private var access: StorageAccess {
    StorageAccess(
      status: { () throws(StorageError) in self.status },
      lock: { () throws(StorageError) in self.status },
      unlock: { passphrase throws(StorageError) in
        self.tried.withLock { $0.append(passphrase) }
        guard passphrase == nil || passphrase == Secret(utf8: "correct horse") else {
          throw .wrongPassphrase
        }
        self.isLocked.withLock { $0 = self.staysLocked }
        return self.status
      })
  }
}
