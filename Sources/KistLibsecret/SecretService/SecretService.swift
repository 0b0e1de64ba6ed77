internal import KistCore

/// What the provider of the keyring is asked (Secret Service specification 0.2).
///
/// Asked over its own connection, and not through libsecret's proxies: they look up every property
/// of every item that is found.
final class SecretService {
  static let name = "org.freedesktop.secrets"

  let bus: SessionBus
  /// The provider's own name on the bus: when it goes away, calls fail and start no other.
  let owner: String
  let session: CipherSession

  /// Connects to the bus and opens a session with the provider.
  init(
    connectingTo address: String, on loop: MainLoop, by deadline: Deadline
  ) async throws(BusError) {
    bus = try await SessionBus.connect(to: address, on: loop, by: deadline)
    owner = try await bus.owner(of: Self.name, by: deadline)
    session = try await CipherSession.open(on: bus, by: deadline)
  }
}

/// The service.
extension SecretService {
  private static let object = ObjectPath(rawValue: "/org/freedesktop/secrets")

  /// The default collection; `nil` when there is none.
  func defaultCollection(by deadline: Deadline) async throws(BusError) -> ObjectPath? {
    let path = try await ask(
      .readAlias, of: Self.object, .tuple(.string("default")), by: deadline
    ).children[0].objectPath
    return path == .none ? nil : path
  }

  /// The items that have these attributes, and perhaps others; throws `locked` where one is in a
  /// collection that is.
  func search(
    _ attributes: [String: String], by deadline: Deadline
  ) async throws(BusError) -> [ObjectPath] {
    let found = try await ask(
      .searchItems, of: Self.object, .tuple(.strings(attributes)), by: deadline
    ).children
    guard found[1].children.isEmpty else { throw .locked }
    return found[0].children.map(\.objectPath)
  }

  /// Asks for the values of items; of one that is locked or gone there is none.
  func startGettingSecrets(
    of items: [ObjectPath], by deadline: Deadline
  ) throws(BusError) -> PendingReply<Variant> {
    try start(
      .getSecrets, of: Self.object, .tuple(.objectPaths(items), .objectPath(session.path)),
      by: deadline)
  }

  /// Opens a collection if that takes no prompt, and gives the prompt if it does.
  func unlock(_ collection: ObjectPath, by deadline: Deadline) async throws(BusError) -> ObjectPath?
  {
    try await ask(.unlock, of: Self.object, .tuple(.objectPaths([collection])), by: deadline)
      .children[1].prompt
  }

  /// Locks a collection, or gives the prompt that it takes.
  func lock(_ collection: ObjectPath, by deadline: Deadline) async throws(BusError) -> ObjectPath? {
    try await ask(.lock, of: Self.object, .tuple(.objectPaths([collection])), by: deadline)
      .children[1].prompt
  }
}

/// A collection.
extension SecretService {
  /// The default collection; throws where there is none.
  func requiredCollection(by deadline: Deadline) async throws -> ObjectPath {
    guard let collection = try await defaultCollection(by: deadline) else {
      throw StorageError.noDefaultKeyring
    }
    return collection
  }

  /// The default collection; throws unless it is there and open, for only then is what is not found
  /// not there.
  func openCollection(by deadline: Deadline) async throws -> ObjectPath {
    let collection = try await requiredCollection(by: deadline)
    guard try await !isLocked(collection, by: deadline) else { throw BusError.locked }
    return collection
  }

  func isLocked(_ collection: ObjectPath, by deadline: Deadline) async throws(BusError) -> Bool {
    let value = try await ask(
      .getProperty, of: collection,
      .tuple(.string("org.freedesktop.Secret.Collection"), .string("Locked")), by: deadline
    ).children[0].unboxed
    guard value.isOfType("b") else { throw .malformed }
    return value.bool
  }

  /// Makes an item beside those that are there, in a collection that is open.
  ///
  /// KeePassXC answers every such call with a prompt, which creates the item without asking anybody.
  func createItem(
    in collection: ObjectPath, label: String, attributes: [String: String], value: Secret,
    by deadline: Deadline
  ) async throws(BusError) -> ObjectPath {
    let properties = Variant.properties([
      "org.freedesktop.Secret.Item.Label": .string(label),
      "org.freedesktop.Secret.Item.Attributes": .strings(attributes),
    ])
    let reply = try await ask(
      .createItem, of: collection, .tuple(properties, session.encode(value), .bool(false)),
      by: deadline
    ).children
    guard let prompt = reply[1].prompt else { return reply[0].objectPath }
    try await answer(prompt, by: deadline)
    // The bookkeeping is among the attributes: no other item has them all.
    guard let item = try await search(attributes, by: deadline).first else { throw .malformed }
    return item
  }
}

/// An item.
extension SecretService {
  /// Asks for the attributes of an item, `(v)` of `a{ss}`; of all its properties they come fastest.
  func startGettingAttributes(
    of item: ObjectPath, by deadline: Deadline
  ) throws(BusError) -> PendingReply<Variant> {
    try start(
      .getProperty, of: item,
      .tuple(.string("org.freedesktop.Secret.Item"), .string("Attributes")), by: deadline)
  }

  /// All properties of an item, `a{sv}`.
  func properties(of item: ObjectPath, by deadline: Deadline) async throws(BusError) -> Variant {
    try await ask(
      .getAllProperties, of: item, .tuple(.string("org.freedesktop.Secret.Item")), by: deadline
    ).children[0]
  }

  /// Deletes an item of a collection that is open.
  func delete(_ item: ObjectPath, by deadline: Deadline) async throws(BusError) {
    let reply = try await ask(.deleteItem, of: item, nil, by: deadline)
    if let prompt = reply.children[0].prompt { try await answer(prompt, by: deadline) }
  }
}

/// A prompt.
extension SecretService {
  /// Shows a prompt and waits until it is completed; false when it was dismissed.
  ///
  /// What it says was its result is not read: whoever asked looks for himself.
  func show(_ prompt: ObjectPath, by deadline: Deadline) async throws(BusError) -> Bool {
    let completed = PendingSignal()
    let subscription = bus.subscribe(
      to: "Completed", Method.promptInterface, of: prompt, from: owner
    ) { completed.arrive(.success($0)) }
    // A provider that is gone completes nothing.
    let end = bus.subscribeToEnd(of: owner) { completed.arrive(.failure(.disconnected)) }
    let timer = try bus.loop.startTimer(after: deadline.remaining()) {
      completed.arrive(.failure(.timeout))
    }
    defer { extendLifetime((subscription, end, timer)) }
    _ = try await ask(.prompt, of: prompt, .tuple(.string("")), by: deadline)
    let arguments: Variant
    do throws(BusError) { arguments = try await completed.value() } catch {
      if error == .timeout { try? await dismiss(prompt, by: Deadline(after: .seconds(1))) }
      throw error
    }
    guard let dismissed = arguments.children.first, dismissed.isOfType("b") else {
      throw .malformed
    }
    return !dismissed.bool
  }

  /// Shows a prompt that stands between an open collection and a change of it.
  private func answer(_ prompt: ObjectPath, by deadline: Deadline) async throws(BusError) {
    guard try await show(prompt, by: deadline) else { throw .dismissed }
  }

  func dismiss(_ prompt: ObjectPath, by deadline: Deadline) async throws(BusError) {
    _ = try await ask(.dismiss, of: prompt, nil, by: deadline)
  }
}

extension SecretService {
  private func start(
    _ method: Method, of object: ObjectPath, _ arguments: Variant?, by deadline: Deadline
  ) throws(BusError) -> PendingReply<Variant> {
    try bus.call(method, of: object, at: owner, arguments, by: deadline)
  }

  private func ask(
    _ method: Method, of object: ObjectPath, _ arguments: Variant?, by deadline: Deadline
  ) async throws(BusError) -> Variant {
    try await start(method, of: object, arguments, by: deadline).value()
  }
}

extension Variant {
  /// The path of a prompt, where there is one.
  fileprivate var prompt: ObjectPath? { objectPath == .none ? nil : objectPath }
}
