import Foundation
import Glibc
import Synchronization

/// A small Secret Service on a private bus, with faults that real ones do not show on demand.
///
/// It has one collection, which is unlocked by default, and encrypted and plain sessions. Its items
/// survive a restart.
package final class MockProvider: Sendable {
  /// A deviation from a correct provider.
  ///
  /// Several can be combined.
  package enum Behaviour: Sendable, Hashable {
    /// Never answers a call of this method, such as `CreateItem`, or of any method if `nil`.
    case mute(in: String? = nil)
    /// Answers `OpenSession` and nothing else.
    case muteAfterSession
    /// After the first call of one method, needs three seconds for each call of it and of another
    /// method.
    case slow(from: String, in: String)
    /// Exits when this method is called, without a change.
    case dies(in: String)
    /// Exits after a change by this method, without an answer.
    case diesAfter(String)
    /// Answers calls of this method with one string, or of any method if `nil`.
    case answersWrongTypes(in: String? = nil)
    /// Answers an encrypted session with these bytes instead of its key.
    case sessionKey(Key)
    /// Returns a deleted item from each search, a different one each time.
    case findsGhosts
    /// The collection is locked, and unlocking it requires a prompt.
    case locked
    /// The end of prompts; by default, they are dismissed.
    ///
    /// In a locked collection, `CreateItem` then also prompts instead of failing.
    case prompt(Prompt)
    /// Answers `CreateItem` with a prompt.
    case createAsksPrompt
    /// Answers `Delete` of an item with a prompt.
    case deleteAsksPrompt
    /// Answers `Lock` with a prompt.
    case lockAsksPrompt
    /// There is no collection.
    case noDefaultCollection
    /// Answers `CreateItem` with success, but stores nothing.
    case claimsToStore
    /// Makes `CreateItem` always change an item of the same service and account.
    case replacesInPlace
    /// Stores values without leading and trailing blanks.
    case altersValues
    /// Stores values with an additional letter at the end.
    case appendsToValues
    /// Deletes an item just before `Delete`, as another program could.
    case deletedByAnother
    /// Refuses encrypted sessions.
    case plainOnly
    /// Also owns the name of kist's own provider.
    case isKist

    package enum Prompt: String, Sendable {
      case accepted, dismissed
      /// Dismissed, with a number instead of paths.
      case dismissedWithWrongType = "dismissed-wrong-type"
      case neverCompletes = "never-completes"
      /// Accepted once the test answers it, and never cancelled.
      case answered
    }

    package enum Key: String, Sendable {
      /// A string or a number instead of bytes.
      case string, number
      /// No bytes.
      case none
      /// The bytes after a leading zero.
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
      case .isKist: "is-kist"
      }
    }
  }

  /// An item with kist's schema, as another program could create it.
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

  /// Starts a provider and returns once it owns the name.
  ///
  /// Its items are numbered from 1.
  package init(
    _ behaviours: [Behaviour] = [], holding items: [Item] = [], on bus: PrivateBus
  ) async throws {
    self.bus = bus
    try write(items, to: itemFile(bus))
    process = Mutex(try await startProvider(behaviours, on: bus))
  }

  package var processIdentifier: CInt { process.withLock { $0.processIdentifier } }

  package var isRunning: Bool { process.withLock { $0.isRunning } }

  /// The received calls in order, across restarts.
  ///
  /// Each is the last word of the interface, a dot, and the method: `Prompt.Prompt`,
  /// `Properties.Get`.
  package var calls: [String] {
    let log = (try? String(contentsOfFile: logFile(bus), encoding: .utf8)) ?? ""
    return log.split(separator: "\n").map(String.init)
  }

  /// Answers all waiting and future prompts.
  package func answerPrompts() throws {
    try Data().write(to: URL(filePath: logFile(bus) + ".answer"))
  }

  package func kill() async throws {
    let process = process.withLock { $0 }
    await process.end(SIGKILL)
    try await bus.waitUntilNoProvider()
  }

  /// Starts it again with the same items and other behaviours.
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
