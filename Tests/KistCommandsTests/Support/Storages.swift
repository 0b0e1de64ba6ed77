import KistCore
import KistTesting
import Synchronization

extension UserStorage {
  /// The same storage with revisions `r.1`, `r.2` …, whose epoch is otherwise random.
  func withKnownRevisions() -> UserStorage {
    var storage = self
    storage.save = { [self] request throws(StorageError) in
      var request = request
      if case .ifRevision(let revision) = request.condition {
        request.condition = .ifRevision(try await original(of: revision))
      }
      do throws(StorageError) { return try await save(request).known } catch { throw error.known }
    }
    storage.load = { [self] request throws(StorageError) in
      var credential = try await load(request)
      credential.summary = credential.summary.known
      return credential
    }
    storage.delete = { [self] request throws(StorageError) in
      var request = request
      if let revision = request.ifRevision {
        request.ifRevision = try await original(of: revision)
      }
      do throws(StorageError) { return try await delete(request) } catch { throw error.known }
    }
    storage.find = { [self] query throws(StorageError) in
      var page = try await find(query)
      page.credentials = page.credentials.map(\.known)
      return page
    }
    return storage
  }

  private func original(of revision: Revision) async throws(StorageError) -> Revision {
    try await findAll().map(\.revision).first { $0.known == revision } ?? revision
  }
}

extension Revision {
  fileprivate var known: Revision {
    Revision(rawValue: "r" + rawValue.drop { $0 != "." })
  }
}

extension CredentialSummary {
  fileprivate var known: CredentialSummary {
    var summary = self
    summary.revision = revision.known
    return summary
  }
}

extension StorageError {
  fileprivate var known: StorageError {
    var error = self
    if case .revision(let revision) = current { error.current = .revision(revision.known) }
    return error
  }
}

extension StorageAccess {
  /// A storage in memory that opens with `correct horse`, or without a passphrase.
  static func inMemory() -> StorageAccess {
    let lock = Lock()
    return StorageAccess(
      status: { () throws(StorageError) in lock.status },
      lock: { () throws(StorageError) in lock.set(true) },
      unlock: { passphrase throws(StorageError) in
        guard passphrase == nil || passphrase == Secret(utf8: "correct horse") else {
          throw .wrongPassphrase
        }
        return lock.set(false)
      })
  }
}

private final class Lock: Sendable {
  private let isLocked = Mutex(false)

  var status: StorageStatus {
    let isLocked = isLocked.withLock { $0 }
    return StorageStatus(
      storage: "memory", reason: "a test asked for it", isLocked: isLocked,
      unlocksWith: .passphrase, reopensAtRestart: true,
      durability: .memory, keyProtection: "nothing", keysInRAM: isLocked ? nil : true,
      integrity: isLocked ? nil : .ok,
      count: isLocked ? nil : 3, uptime: 42)
  }

  func set(_ value: Bool) -> StorageStatus {
    isLocked.withLock { $0 = value }
    return status
  }
}

extension KeySlots {
  /// A key file, and passphrases as they are added; `current` is what was added last.
  static func inMemory() -> KeySlots {
    let state = Mutex(SlotsInMemory())
    return KeySlots(
      list: { () throws(StorageError) in state.withLock(\.all) },
      add: { addition throws(StorageError) in
        try state.withLock { (state) throws(StorageError) in
          if let current = addition.current { try state.check(current) }
          if addition.replacesCurrent { state.all.removeLast() }
          state.passphrase = addition.passphrase
          let number = (state.all.last?.number ?? 0) + 1
          state.all.append(
            KeySlotSummary(number: number, kind: .passphrase, passes: 3, kibibytes: 262_144))
          return state.all
        }
      },
      remove: { removal throws(StorageError) in
        try state.withLock { (state) throws(StorageError) in
          if let current = removal.current { try state.check(current) }
          state.all.removeAll { $0.number == removal.number }
          return state.all
        }
      })
  }
}

private struct SlotsInMemory {
  var all = [KeySlotSummary(number: 1, kind: .keyFile)]
  var passphrase: Secret?

  func check(_ current: Secret) throws(StorageError) {
    if current != passphrase { throw StorageError.wrongPassphrase }
  }
}

extension WatchCredentials {
  /// A watch that tells of a few changes, and is over.
  static let sample = WatchCredentials { request throws(StorageError) in
    let watchers = Watchers()
    let changes = try watchers.watch(request) { nil }
    let key = CredentialKey(service: "github.com", account: "alice")
    watchers.tell([
      .saved(key, Revision(rawValue: "r.1")), .deleted(key, Revision(rawValue: "r.2")), .reset,
      .deleted(CredentialKey(service: "gitlab.com"), nil),
    ])
    watchers.end(.notFound)
    return CredentialChanges(position: nil) { () throws(StorageError) in
      do throws(StorageError) { return try await changes.makeAsyncIterator().next() } catch {
        return nil
      }
    }
  }
}
