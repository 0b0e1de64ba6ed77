import KistCore
import Synchronization

/// An interrupted change, the readable state after it, and the state after the next save.
struct Interruption: Sendable {
  let change: InterruptedChange
  /// `nil` if the change was not interrupted.
  let moment: BusProxy.Moment?
  /// The calls of the change.
  let calls: [String]
  private let isCutOff: Bool
  private let error: StorageError?
  private let readable: Credential?
  private let readableAfterNextSave: Credential?
  private let itemsBefore: Set<String>
  private let items: Set<String>
  private let itemsAfterNextSave: Set<String>

  /// Interrupts a change, reads and saves again, and then deletes everything.
  init(
    of change: InterruptedChange, at moment: BusProxy.Moment?, on bus: PrivateBus,
    by access: KeyringAccess, interlude: () async throws -> Void = {}
  ) async throws {
    self.change = change
    self.moment = moment
    itemsBefore = try await bus.allItems()
    try await change.prepare(by: access, on: bus)
    (calls, isCutOff, error) = try await withBusProxy(to: bus) { proxy in
      let isCutOff = Atomic(false)
      let error = Mutex<StorageError?>(nil)
      let calls = Mutex<[String]>([])
      try await access(proxy.address) { storage, kill in
        proxy.count(stoppingAt: moment) {
          isCutOff.store(true, ordering: .relaxed)
          kill()
          proxy.cut()
        }
        do throws(StorageError) { try await change.carryOut(on: storage) } catch let thrown {
          error.withLock { $0 = thrown }
        }
        calls.withLock { $0 = proxy.calls }
      }
      return (
        calls.withLock(\.self), isCutOff.load(ordering: .relaxed), error.withLock(\.self)
      )
    }
    try await interlude()
    items = try await bus.allItems()
    let found = Mutex<(Credential?, Credential?, Set<String>)>((nil, nil, []))
    try await access(bus.address) { storage, _ in
      let first = try await storage.loadIfThere(.interrupted)
      try await storage.save(.next)
      let second = try await storage.loadIfThere(.interrupted)
      let items = try await bus.allItems()
      found.withLock { $0 = (first, second, items) }
      try await storage.delete(.interrupted)
    }
    (readable, readableAfterNextSave, itemsAfterNextSave) = found.withLock(\.self)
  }

  /// The broken promises, one sentence each.
  var faults: [String] {
    var faults: [String] = []
    func expect(_ isTrue: Bool, _ sentence: String) {
      if !isTrue { faults.append("\(change), cut at \(moment, default: "no moment"): \(sentence)") }
    }
    let isOld = readable.isWhat(change.old)
    let isNew = readable.isWhat(change.new)
    expect(isCutOff == (moment != nil), "the moment did not occur among \(calls)")
    expect(isOld || isNew, "neither the old nor the new credential is readable")
    expect(error != nil || isNew, "it was reported as done, but is not")
    expect(error?.outcome != .unchanged || isOld, "it was reported as unchanged, but is changed")
    expect(error == nil || error?.outcome != nil, "the outcome was not reported")
    expect(error == nil || moment != nil, "\(error, default: "")")
    expect(items.isSuperset(of: itemsBefore), "an item of another program is missing")
    expect(itemsAfterNextSave.isSuperset(of: itemsBefore), "the next save deleted another's item")
    expect(
      itemsAfterNextSave.subtracting(itemsBefore).count == 1,
      "the next save left \(itemsAfterNextSave.subtracting(itemsBefore).count) items")
    expect(readableAfterNextSave.isWhat(.next), "the next save was not stored")
    return faults
  }
}

extension UserStorage {
  fileprivate func loadIfThere(_ key: CredentialKey) async throws(StorageError) -> Credential? {
    do throws(StorageError) { return try await load(key) } catch {
      guard error.code == .notFound else { throw error }
      return nil
    }
  }
}

extension Credential? {
  /// Returns whether a loaded credential equals the saved one in every part; both may be missing.
  fileprivate func isWhat(_ saved: NewCredential?) -> Bool {
    map {
      NewCredential(
        key: $0.summary.key, secret: $0.secret, label: $0.summary.label,
        attributes: $0.summary.attributes, expiresAt: $0.summary.expiresAt)
    } == saved
  }
}

extension PrivateBus {
  fileprivate func allItems() async throws -> Set<String> {
    guard let collection = try await defaultCollection() else { return [] }
    return Set(try await items(of: collection))
  }
}
