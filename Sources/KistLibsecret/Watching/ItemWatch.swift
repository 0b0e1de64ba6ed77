internal import KistCore

/// Follows the items of one start of the provider, by the signals that it sends of them.
///
/// A signal says that there is something to look at, and no more: what is there is read, so that it does
/// not matter what a provider means by each, or how often it sends one.
final class ItemWatch {
  private enum Signal {
    /// An item was made, which gnome-keyring also says of one that was replaced.
    case made(ObjectPath)
    /// An item was changed.
    case changed(ObjectPath)
    case deleted(ObjectPath)
    /// A collection was made, changed, locked, unlocked or deleted.
    case collections
  }

  let service: SecretService
  /// Whether another start of the provider is there to be followed.
  private(set) var hasSuccessor = false
  /// Whether nothing can be heard any more.
  private(set) var isCutOff = false
  private var index: ItemIndex?
  private var subscriptions: [Subscription] = []
  private var signals: [Signal] = []
  private var waiting: Pending<Void>?

  /// Hears of all that happens from here on.
  init(of service: SecretService) {
    self.service = service
    let bus = service.bus
    func item(_ signal: String, _ heard: @escaping (ObjectPath) -> Signal) -> Subscription {
      bus.subscribe(
        to: signal, "org.freedesktop.Secret.Collection", of: nil, from: service.owner
      ) { [weak self] arguments in
        guard arguments.isOfType("(o)") else { return }
        self?.hear(heard(arguments.children[0].objectPath))
      }
    }
    func collections(_ signal: String) -> Subscription {
      bus.subscribe(
        to: signal, "org.freedesktop.Secret.Service", of: nil, from: service.owner
      ) { [weak self] _ in self?.hear(.collections) }
    }
    subscriptions = [
      item("ItemCreated") { .made($0) }, item("ItemChanged") { .changed($0) },
      item("ItemDeleted") { .deleted($0) }, collections("CollectionCreated"),
      collections("CollectionChanged"), collections("CollectionDeleted"),
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

  /// Waits until there is something to look at.
  func wait() async {
    guard signals.isEmpty, !hasSuccessor, !isCutOff else { return }
    let pending = Pending<Void>()
    waiting = pending
    try? await pending.value()
  }

  /// Ends waiting.
  func wake() {
    waiting?.arrive(.success(()))
    waiting = nil
  }

  /// Notes that a collection may have been locked or unlocked, of which not every provider tells.
  func lookAgain() { hear(.collections) }

  private func hear(_ signal: Signal) {
    // So many are told as a reset.
    if signals.count == Limits.watch { index = nil } else { signals.append(signal) }
    wake()
  }
}

extension ItemWatch {
  /// Reads all items; whatever happens to them later is a change.
  ///
  /// Where the keyring is locked, nothing is known of them.
  func readAll(by deadline: Deadline) async throws {
    forget()
    guard try await isOpen(by: deadline) else { return }
    do {
      index = ItemIndex(
        try await service.wholeItems(with: Item.attributes(of: CredentialQuery()), by: deadline))
    } catch BusError.locked { return }
    // What came meanwhile is before all that is told later.
    for _ in 0..<16 where !signals.isEmpty { _ = try await look(by: deadline) }
  }

  /// Forgets what is known of the items, since it cannot be known any more.
  func forget() {
    signals = []
    index = nil
  }

  /// What has changed by the signals that came: a `reset` where the keyring was locked before.
  func changes(by deadline: Deadline) async throws -> [CredentialChange] {
    guard try await isOpen(by: deadline) else {
      forget()
      return []
    }
    if index != nil { return try await look(by: deadline) }
    try await readAll(by: deadline)
    return index == nil ? [] : [.reset]
  }

  /// Takes in a change of kistd's own, and tells what it is to watchers.
  func put(_ item: Item?, at path: ObjectPath) -> [CredentialChange] {
    index?.put(item, at: path) ?? []
  }

  /// Looks at the items that signals have come about.
  private func look(by deadline: Deadline) async throws -> [CredentialChange] {
    var changes: [CredentialChange] = []
    while !signals.isEmpty {
      let signal = signals.removeFirst()
      switch signal {
      case .collections: continue
      case .made(let path), .changed(let path), .deleted(let path):
        do {
          let item = try await service.item(at: path, by: deadline)
          var isTouched = item?.generation == 0
          if case .changed = signal { isTouched = true }
          changes += index?.put(item, at: path, isTouched: isTouched) ?? []
        } catch let error as StorageError where error.code == .corrupt {
          // Whatever it was, it can be read no more.
          changes.append(.reset)
        }
      }
    }
    return changes
  }

  private func isOpen(by deadline: Deadline) async throws(BusError) -> Bool {
    guard let collection = try await service.defaultCollection(by: deadline) else { return false }
    return try await !service.isLocked(collection, by: deadline)
  }
}
