import KistCore
import KistTesting
import Synchronization
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `A load without options` {
  @Test(arguments: [
    ["github.com"], ["github.com", "alice"], ["github.com", ""], [""], ["help"], ["a b", "c=d"],
    ["kist://git.example/a%2Fb"], ["e\u{301}", "\u{e9}"], ["\u{2013}dash"], ["s", "-\u{301}a"],
  ])
  func `is read as the argument parser reads it`(key: [String]) async throws {
    let request = await request(of: ["load"] + key)
    #expect(request != nil)
    // What ends the options leaves the line to the parser, and changes nothing else.
    #expect(request == (await self.request(of: ["load"] + key + ["--"])))
  }

  /// What the storage is asked for; `nil` when it is not.
  private func request(of arguments: [String]) async -> LoadRequest? {
    let asked = Mutex<LoadRequest?>(nil)
    var storage = UserStorage.inMemory(now: { .sample })
    storage.load = { request throws(StorageError) in
      asked.withLock { $0 = request }
      throw .notFound
    }
    let terminal = Recorder().terminal()
    _ = await Kist.status(of: arguments, on: terminal) { [storage] command in
      try await (command as? any RequiresUserStorage)?.perform(storage, terminal)
    }
    return asked.withLock { $0 }
  }
}
