public import KistCore
import Testing

/// The rules for watchers that every storage must follow, like those of `UserStorageContract`.
///
/// A rule waits for the changes that it expects, so its test needs a time limit.
public enum WatchContract {
  /// One rule, and its check.
  public typealias Rule = ContractRule<Fixture>

  /// A fresh, empty storage for one rule.
  public struct Fixture: Sendable {
    /// The storage to watch.
    public let storage: UserStorage
    /// The watch of the storage.
    public let watch: WatchCredentials

    /// Creates a fixture.
    public init(storage: UserStorage, watch: WatchCredentials) {
      self.storage = storage
      self.watch = watch
    }
  }

  /// Every rule.
  public static let all: [Rule] = [
    Rule("a save and a delete are reported with their key and revision") { storage, watch in
      var watcher = try await Watcher(watch)
      for _ in 0..<3 {
        let saved = try await storage.save(.sample())
        #expect(try await watcher.next() == .saved(.sample, saved.revision))
      }
      try await storage.delete(.sample)
      let deleted = try await watcher.next()
      #expect(deleted?.key == .sample && deleted?.isDeletion == true)
    },
    Rule("every watcher that began before a save receives it") { storage, watch in
      var earlier: [Watcher] = []
      for number in 0..<4 {
        earlier.append(try await Watcher(watch))
        let key = CredentialKey(service: "\(number)")
        let saved = try await storage.save(.sample(key))
        for place in earlier.indices {
          #expect(try await earlier[place].next() == .saved(key, saved.revision))
        }
      }
    },
    Rule("the revisions of a key are reported in order, up to the latest one") { storage, watch in
      var watcher = try await Watcher(watch)
      var saved: [Revision] = []
      for _ in 0..<8 { saved.append(try await storage.save(.sample()).revision) }
      var reported: [Revision] = []
      while reported.last != saved.last {
        reported.append(try #require(await watcher.next()?.revision))
      }
      let places = reported.compactMap(saved.firstIndex)
      #expect(places.count == reported.count && places == places.sorted())
    },
    Rule("a watcher of a service receives only changes of exactly that service") { storage, watch in
      var watcher = try await Watcher(watch, service: "\u{E9}")
      let others = ["e\u{301}", "\u{C9}", "\u{E9} ", "\u{E9}\u{E9}", "e"]
      for service in others {
        try await storage.save(.sample(CredentialKey(service: service)))
        try await storage.delete(CredentialKey(service: service))
      }
      for account in ["", "alice"] {
        let key = CredentialKey(service: "\u{E9}", account: account)
        let saved = try await storage.save(.sample(key))
        #expect(try await watcher.next() == .saved(key, saved.revision))
      }
    },
    Rule("a delete and a later save of the same key are both reported") { storage, watch in
      try await storage.save(.sample())
      var watcher = try await Watcher(watch)
      try await storage.delete(.sample)
      #expect(try await watcher.next()?.isDeletion == true)
      let saved = try await storage.save(.sample(), if: .ifAbsent)
      #expect(try await watcher.next() == .saved(.sample, saved.revision))
    },
    Rule("refused requests and requests without a change are not reported") { storage, watch in
      let first = try await storage.save(.sample())
      try await storage.save(.sample())
      var watcher = try await Watcher(watch)
      await expectUnchanged(.conflict) {
        try await storage.save(.sample(), if: .ifRevision(first.revision))
      }
      await expectUnchanged(.badRequest) {
        try await storage.save(.sample(CredentialKey(service: "")))
      }
      let absent = CredentialKey(service: "absent")
      #expect(try await !storage.delete(absent))
      _ = try await storage.load(.sample)
      let next = try await storage.save(.sample(CredentialKey(service: "next")))
      #expect(try await watcher.next() == .saved(next.key, next.revision))
    },
    Rule("a watch is refused if its service exceeds the limits") { storage, watch in
      await expect(.badRequest) { try await watch(service: "") }
      await expect(.badRequest) { try await watch(service: "a\nb") }
      await expect(.tooLarge) {
        try await watch(service: text(ofLength: Limits.keyPart + 1))
      }
    },
    Rule("a cancelled task receives no more changes, and other watchers still do") {
      storage, watch in
      let changes = try await watch()
      var other = try await Watcher(watch)
      let waiting = Task { try await changes.makeAsyncIterator().next() }
      waiting.cancel()
      #expect(try await waiting.value == nil)
      let saved = try await storage.save(.sample())
      #expect(try await other.next() == .saved(.sample, saved.revision))
    },
  ]
}

/// A watcher that drops a change equal to the one before it.
private struct Watcher {
  private let changes: CredentialChanges.Iterator
  private var last: CredentialChange?

  init(_ watch: WatchCredentials, service: String? = nil) async throws {
    changes = try await watch(service: service).makeAsyncIterator()
  }

  mutating func next() async throws -> CredentialChange? {
    var change: CredentialChange?
    repeat { change = try await changes.next() } while change != nil && change == last
    last = change
    return change
  }
}

extension CredentialChange {
  fileprivate var isDeletion: Bool { if case .deleted = self { true } else { false } }
}
