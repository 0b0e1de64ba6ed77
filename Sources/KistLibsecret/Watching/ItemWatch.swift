internal import KistCore

/// Watches the items of one run of the provider through its signals.
///
/// A signal only says where to look. The items are then read, so that neither the meaning nor the
/// number of a provider's signals matters.
final class ItemWatch {
  private enum Signal {
    /// An item was made, changed or deleted.
    ///
    /// gnome-keyring reports a replaced item as made.
    case item(ObjectPath, isChanged: Bool)
    /// A collection was made, changed, locked, unlocked or deleted.
    case collections
  }

  let service: SecretService
  /// Whether another run of the provider has begun.
  private(set) var hasSuccessor = false
  /// Whether no more signals can arrive.
  private(set) var isCutOff = false
  private var index: ItemIndex?
  private var subscriptions: [Registration] = []
  private var signals: [Signal] = []
  private var waiting: Pending<Void>?

  /// Receives all signals from now on.
  init(of service: SecretService) {
    self.service = service
    let bus = service.bus
    func items(_ signal: String, areChanged: Bool = false) -> Registration {
      bus.subscribe(
        to: signal, Method.collectionInterface, of: nil, from: service.owner
      ) { [weak self] arguments in
        guard arguments.isOfType("(o)") else { return }
        self?.hear(.item(arguments.children[0].objectPath, isChanged: areChanged))
      }
    }
    func collections(_ signal: String) -> Registration {
      bus.subscribe(
        to: signal, Method.serviceInterface, of: nil, from: service.owner
      ) { [weak self] _ in self?.hear(.collections) }
    }
    subscriptions = [
      items("ItemCreated"), items("ItemChanged", areChanged: true), items("ItemDeleted"),
      collections("CollectionCreated"), collections("CollectionChanged"),
      collections("CollectionDeleted"),
      bus.subscribeToOwners(of: SecretService.name) { [weak self] owner in
        guard let self, !owner.isEmpty, owner != service.owner else { return }
        hasSuccessor = true
        wake()
      },
      bus.subscribeToClosing { [weak self] in
        self?.isCutOff = true
        self?.wake()
      },
    ]
  }

  /// Waits until there is a change to read.
  func wait() async {
    guard signals.isEmpty, !hasSuccessor, !isCutOff else { return }
    let pending = Pending<Void>()
    waiting = pending
    try? await pending.value()
  }

  func wake() {
    waiting?.arrive(.success(()))
    waiting = nil
  }

  /// Records that a collection may have been locked or unlocked; some providers send no signal.
  func lookAgain() { hear(.collections) }

  private func hear(_ signal: Signal) {
    // Too many signals are reported as a reset.
    if signals.count == Limits.watch { index = nil } else { signals.append(signal) }
    wake()
  }
}

extension ItemWatch {
  /// Reads all items; later events are changes.
  ///
  /// While the keyring is locked, nothing is known about them.
  func readAll(from provider: Provider) async throws {
    forget()
    guard try await isOpen(at: provider) else { return }
    do { index = ItemIndex(try await provider.wholeItems()) } catch BusError.locked { return }
    // Signals that came meanwhile belong to this state, not to later changes.
    for _ in 0..<16 where !signals.isEmpty { _ = try await look(at: provider) }
  }

  /// Forgets the items, because their state can no longer be known.
  func forget() {
    signals = []
    index = nil
  }

  /// Returns the changes that the signals announced; a `reset` if the keyring was locked before.
  func changes(by deadline: Deadline) async throws -> [CredentialChange] {
    let provider = Provider(service: service, deadline: deadline)
    guard try await isOpen(at: provider) else {
      forget()
      return []
    }
    if index != nil { return try await look(at: provider) }
    try await readAll(from: provider)
    return index == nil ? [] : [.reset]
  }

  /// Records a change by kistd itself, and returns the changes for watchers.
  func put(_ item: Item?, at path: ObjectPath) -> [CredentialChange] {
    index?.put(item, at: path) ?? []
  }

  private func look(at provider: Provider) async throws -> [CredentialChange] {
    var changes: [CredentialChange] = []
    while !signals.isEmpty {
      guard case .item(let path, let isChanged) = signals.removeFirst() else { continue }
      do {
        let item = try await provider.item(at: path)
        let isTouched = isChanged || item?.generation == 0
        changes += index?.put(item, at: path, isTouched: isTouched) ?? []
      } catch let error as StorageError where error.code == .corrupt {
        // The item can no longer be read, so its change is unknown.
        changes.append(.reset)
      }
    }
    return changes
  }

  private func isOpen(at provider: Provider) async throws(BusError) -> Bool {
    guard let collection = try await provider.defaultCollection() else { return false }
    return try await !provider.isLocked(collection)
  }
}

/// The items that store credentials, as watchers know them.
struct ItemIndex {
  private var keys: [ObjectPath: CredentialKey] = [:]
  private var items: [CredentialKey: [Item]] = [:]

  init(_ items: [Item]) { for item in items { _ = put(item, at: item.path) } }

  /// Replaces the item at a path, and returns the resulting changes of the credentials.
  ///
  /// - Parameters:
  ///   - item: `nil` if the item is gone, or no longer stores a credential.
  ///   - isTouched: whether there may be an invisible change, such as of the secret alone.
  mutating func put(
    _ item: Item?, at path: ObjectPath, isTouched: Bool = false
  ) -> [CredentialChange] {
    var affected = [keys[path]].compactMap(\.self)
    if let key = item?.summary.key, key != affected.first { affected.append(key) }
    let before = affected.map { newest(of: $0) }
    if let key = keys.removeValue(forKey: path) {
      items[key]?.removeAll { $0.path == path }
      if items[key]?.isEmpty == true { items[key] = nil }
    }
    if let item {
      keys[path] = item.summary.key
      items[item.summary.key, default: []].append(item)
    }
    return zip(affected, before).compactMap { key, before in
      guard let after = newest(of: key) else { return before == nil ? nil : .deleted(key, nil) }
      let revision = after.summary.revision
      let isSame = before?.summary.revision == revision && !(isTouched && after.path == path)
      return isSame ? nil : .saved(key, revision)
    }
  }

  private func newest(of key: CredentialKey) -> Item? { items[key]?.max { $1.isNewer(than: $0) } }
}
