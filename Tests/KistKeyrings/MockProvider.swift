import Foundation
import Glibc
import Synchronization

/// A small Secret Service on a private bus, which does what no real one does on demand.
///
/// It has one collection, unlocked unless told otherwise, with encrypted and plain sessions. Its
/// items survive a restart.
package final class MockProvider: Sendable {
  /// What it does other than a good provider; several can be combined.
  package enum Behaviour: Sendable, Hashable {
    /// Never answers a call of this method, such as `CreateItem`; of any when `nil`.
    case mute(in: String? = nil)
    /// Answers `OpenSession` and nothing else.
    case muteAfterSession
    /// From the first call of one method on, takes three seconds for each call of that and of
    /// another.
    case slow(from: String, in: String)
    /// Exits when this method is called, with nothing done.
    case dies(in: String)
    /// Exits when this method has changed something, without an answer.
    case diesAfter(String)
    /// Answers calls of this method with one string; of any when `nil`.
    case answersWrongTypes(in: String? = nil)
    /// Answers an encrypted session with this in place of its key.
    case sessionKey(Key)
    /// Every search finds an item that is gone, each time another.
    case findsGhosts
    /// The collection is locked; unlocking it asks with a prompt.
    case locked
    /// How prompts end, where it is not by being dismissed.
    ///
    /// In a locked collection `CreateItem` then asks too, in place of an error.
    case prompt(Prompt)
    /// `CreateItem` is answered with a prompt.
    case createAsksPrompt
    /// `Delete` of an item is answered with a prompt.
    case deleteAsksPrompt
    /// `Lock` is answered with a prompt.
    case lockAsksPrompt
    /// There is no collection.
    case noDefaultCollection
    /// `CreateItem` answers success and stores nothing.
    case claimsToStore
    /// `CreateItem` changes an item of the same service and account, whatever it was asked.
    case replacesInPlace
    /// Stores values without the blanks at their ends.
    case altersValues
    /// Stores values with a letter after them.
    case appendsToValues
    /// `Delete` of an item finds that another program has just deleted it.
    case deletedByAnother
    /// Refuses encrypted sessions.
    case plainOnly

    package enum Prompt: String, Sendable {
      case accepted, dismissed
      /// Dismissed, with a number where paths belong.
      case dismissedWithWrongType = "dismissed-wrong-type"
      case neverCompletes = "never-completes"
      /// Accepted once the test answers it, and taken back by nothing.
      case answered
    }

    package enum Key: String, Sendable {
      /// A string, or a number, in place of bytes.
      case string, number
      /// No bytes.
      case none
      /// The bytes, and a zero in front of them.
      case longer
    }

    private func named(_ name: String, _ method: String?) -> String {
      method.map { "\(name)=\($0)" } ?? name
    }

    fileprivate var word: String {
      switch self {
      case .mute(let method): named("mute", method)
      case .muteAfterSession: "mute-after-session"
      case .slow(let first, let other): "slow=\(first),\(other)"
      case .dies(let method): "dies=\(method)"
      case .diesAfter(let method): "dies-after=\(method)"
      case .answersWrongTypes(let method): named("wrong-types", method)
      case .sessionKey(let key): "session-key=\(key.rawValue)"
      case .findsGhosts: "finds-ghosts"
      case .locked: "locked"
      case .prompt(let prompt): "prompt=\(prompt.rawValue)"
      case .createAsksPrompt: "create-asks-prompt"
      case .deleteAsksPrompt: "delete-asks-prompt"
      case .lockAsksPrompt: "lock-asks-prompt"
      case .noDefaultCollection: "no-default-collection"
      case .claimsToStore: "claims-to-store"
      case .appendsToValues: "appends-to-values"
      case .deletedByAnother: "deleted-by-another"
      case .replacesInPlace: "replaces-in-place"
      case .altersValues: "alters-values"
      case .plainOnly: "plain-only"
      }
    }
  }

  /// An item under kist's schema, as another program might have made it.
  package struct Item: Sendable {
    fileprivate let attributes: [String: String]
    fileprivate let label: String
    fileprivate let value: String

    package init(
      _ service: String, _ account: String, _ more: [String: String] = [:],
      label: String = "label", value: String
    ) {
      attributes = [
        "xdg:schema": "io.kist.Credential", "service": service, "account": account,
      ].merging(more) { $1 }
      self.label = label
      self.value = value
    }
  }

  private let bus: PrivateBus
  private let process: Mutex<Program>

  /// Starts a provider and returns once it owns the name; its items are numbered from 1 on.
  package init(
    _ behaviours: [Behaviour] = [], holding items: [Item] = [], on bus: PrivateBus
  ) async throws {
    self.bus = bus
    try write(items, to: itemFile(bus))
    process = Mutex(try await startProvider(behaviours, on: bus))
  }

  package var processIdentifier: CInt { process.withLock { $0.processIdentifier } }

  package var isRunning: Bool { process.withLock { $0.isRunning } }

  /// The calls that were received, over restarts, in their order.
  ///
  /// Each is the last word of the interface, a dot, and the method: `Prompt.Prompt`,
  /// `Properties.Get`.
  package var calls: [String] {
    let log = (try? String(contentsOfFile: logFile(bus), encoding: .utf8)) ?? ""
    return log.split(separator: "\n").map(String.init)
  }

  /// Answers the prompts that wait for it, and those that will.
  package func answerPrompts() throws {
    try Data().write(to: URL(filePath: logFile(bus) + ".answer"))
  }

  package func kill() async throws {
    let process = process.withLock { $0 }
    await process.end(SIGKILL)
    try await bus.waitUntilNoProvider()
  }

  /// Starts it anew with the items that it had, and with other behaviours.
  package func restart(_ behaviours: [Behaviour] = []) async throws {
    try await kill()
    let started = try await startProvider(behaviours, on: bus)
    process.withLock { $0 = started }
  }
}

private func startProvider(
  _ behaviours: [MockProvider.Behaviour], on bus: PrivateBus
) async throws -> Program {
  let script = URL(filePath: #filePath).deletingLastPathComponent().path + "/Mock/provider.py"
  let provider = try bus.start(
    "/usr/bin/python3",
    ["-B", script, itemFile(bus), logFile(bus)] + behaviours.map(\.word))
  try await poll("the provider owns its name") {
    guard provider.isRunning else { throw NotInTime(description: provider.output.errors) }
    return provider.output.text == "ready\n"
  }
  return provider
}

private func logFile(_ bus: PrivateBus) -> String { bus.session.folder + "/calls" }
private func itemFile(_ bus: PrivateBus) -> String { bus.session.folder + "/items.json" }

/// Writes items as the provider does.
private func write(_ items: [MockProvider.Item], to path: String) throws {
  let rows = items.enumerated().map { offset, item in
    [
      "/org/freedesktop/secrets/collection/login/\(offset + 1)", item.label, item.attributes,
      item.value.utf8.map { String(format: "%02x", $0) }.joined(), "text/plain", 1_767_323_045,
    ] as [Any]
  }
  let state: [String: Any] = ["number": items.count, "items": rows]
  try JSONSerialization.data(withJSONObject: state).write(to: URL(filePath: path))
}
