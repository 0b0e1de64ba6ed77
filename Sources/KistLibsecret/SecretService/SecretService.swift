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
  /// The prompt that unlocks the collection, once one was shown.
  var unlocking: ShownPrompt?

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

  /// The items that have these attributes, and perhaps others, and are in collections that are open; of
  /// those in others, if there are any, another function is told, or this throws `locked`.
  func search(
    _ attributes: [String: String], by deadline: Deadline,
    whenLocked: ([ObjectPath]) throws(BusError) -> Void = { _ throws(BusError) in throw .locked }
  ) async throws(BusError) -> [ObjectPath] {
    let found = try await ask(
      .searchItems, of: Self.object, .tuple(.strings(attributes)), by: deadline
    ).children
    let locked = found[1].children
    if !locked.isEmpty { try whenLocked(locked.map(\.objectPath)) }
    return found[0].children.map(\.objectPath)
  }

  /// Asks for the values of items; of one that is locked or gone there is none.
  func startGettingSecrets(
    of items: [ObjectPath], by deadline: Deadline
  ) throws(BusError) -> Pending<Variant> {
    try start(
      .getSecrets, of: Self.object, .tuple(.objectPaths(items), .objectPath(session.path)),
      by: deadline)
  }

  /// Opens collections, or those of items, if that takes no prompt, and gives the prompt if it does,
  /// which need not be shown: it ends with the connection.
  func unlock(_ objects: [ObjectPath], by deadline: Deadline) async throws(BusError) -> ObjectPath?
  {
    try await ask(.unlock, of: Self.object, .tuple(.objectPaths(objects)), by: deadline)
      .children[1].prompt
  }

  /// Locks a collection, or gives the prompt that it takes.
  func lock(_ collection: ObjectPath, by deadline: Deadline) async throws(BusError) -> ObjectPath? {
    try await ask(.lock, of: Self.object, .tuple(.objectPaths([collection])), by: deadline)
      .children[1].prompt
  }
}

/// An item.
extension SecretService {
  /// Asks for the attributes of an item, `(v)` of `a{ss}`; of all its properties they come fastest.
  func startGettingAttributes(
    of item: ObjectPath, by deadline: Deadline
  ) throws(BusError) -> Pending<Variant> {
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

  /// Deletes an item of a collection that is open; one that is gone already was deleted by another.
  func delete(_ item: ObjectPath, by deadline: Deadline) async throws(BusError) {
    let reply: Variant
    do throws(BusError) {
      reply = try await ask(.deleteItem, of: item, nil, by: deadline)
    } catch {
      guard error == .noSuchObject else { throw error }
      return
    }
    if let prompt = reply.children[0].prompt { try await answer(prompt, by: deadline) }
  }
}

/// What all of these are asked by.
extension SecretService {
  /// Makes a call whose answer is waited for with `value()`.
  func start(
    _ method: Method, of object: ObjectPath, _ arguments: Variant?, by deadline: Deadline
  ) throws(BusError) -> Pending<Variant> {
    try bus.call(method, of: object, at: owner, arguments, by: deadline)
  }

  /// Makes a call and waits for its answer.
  func ask(
    _ method: Method, of object: ObjectPath, _ arguments: Variant?, by deadline: Deadline
  ) async throws(BusError) -> Variant {
    try await start(method, of: object, arguments, by: deadline).value()
  }
}
