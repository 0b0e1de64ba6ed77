internal import KistCore

/// A connection to the keyring's provider (Secret Service specification 0.2).
///
/// It does not use libsecret's proxies, because they read every property of every item that is
/// found.
final class SecretService {
  static let name = "org.freedesktop.secrets"

  let bus: SessionBus
  /// The provider's unique name on the bus.
  ///
  /// When the provider goes away, calls to this name fail and start no other provider.
  let owner: String
  let session: CipherSession
  /// The prompt that unlocks the collection, once one was shown.
  var unlocking: ShownPrompt?

  init(
    connectingTo address: String, on loop: MainLoop, by deadline: Deadline
  ) async throws(BusError) {
    bus = try await SessionBus.connect(to: address, on: loop, by: deadline)
    owner = try await bus.owner(of: Self.name, by: deadline)
    session = try await CipherSession.open(on: bus, by: deadline)
  }
}

extension SecretService {
  private static let object = ObjectPath(rawValue: "/org/freedesktop/secrets")

  /// Returns the default collection; `nil` if there is none.
  func defaultCollection(by deadline: Deadline) async throws(BusError) -> ObjectPath? {
    let path = try await ask(
      .readAlias, of: Self.object, .tuple(.string("default")), by: deadline
    ).children[0].objectPath
    return path == .none ? nil : path
  }

  /// Returns the items in open collections that have these attributes, and perhaps others.
  ///
  /// If there are items in locked collections, it calls `whenLocked`, which throws `locked` by
  /// default.
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

  /// Requests the values of items; the answer leaves out items that are locked or gone.
  func startGettingSecrets(
    of items: [ObjectPath], by deadline: Deadline
  ) throws(BusError) -> Pending<Variant> {
    try start(
      .getSecrets, of: Self.object, .tuple(.objectPaths(items), .objectPath(session.path)),
      by: deadline)
  }

  /// Unlocks collections, or those of items, if that needs no prompt; otherwise returns the prompt.
  ///
  /// The prompt need not be shown: it ends with the connection.
  func unlock(_ objects: [ObjectPath], by deadline: Deadline) async throws(BusError) -> ObjectPath?
  {
    try await ask(.unlock, of: Self.object, .tuple(.objectPaths(objects)), by: deadline)
      .children[1].prompt
  }

  /// Locks a collection, or returns the prompt that this requires.
  func lock(_ collection: ObjectPath, by deadline: Deadline) async throws(BusError) -> ObjectPath? {
    try await ask(.lock, of: Self.object, .tuple(.objectPaths([collection])), by: deadline)
      .children[1].prompt
  }
}

extension SecretService {
  /// Requests the attributes of an item, `(v)` of `a{ss}`; the fastest of its properties.
  func startGettingAttributes(
    of item: ObjectPath, by deadline: Deadline
  ) throws(BusError) -> Pending<Variant> {
    try start(
      .getProperty, of: item,
      .tuple(.string("org.freedesktop.Secret.Item"), .string("Attributes")), by: deadline)
  }

  /// Returns all properties of an item, `a{sv}`.
  func properties(of item: ObjectPath, by deadline: Deadline) async throws(BusError) -> Variant {
    try await ask(
      .getAllProperties, of: item, .tuple(.string("org.freedesktop.Secret.Item")), by: deadline
    ).children[0]
  }

  /// Deletes an item of an open collection; succeeds if another program has already deleted it.
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

extension SecretService {
  /// Starts a call; wait for its answer with `value()`.
  func start(
    _ method: Method, of object: ObjectPath, _ arguments: Variant?, by deadline: Deadline
  ) throws(BusError) -> Pending<Variant> {
    try bus.call(method, of: object, at: owner, arguments, by: deadline)
  }

  func ask(
    _ method: Method, of object: ObjectPath, _ arguments: Variant?, by deadline: Deadline
  ) async throws(BusError) -> Variant {
    try await start(method, of: object, arguments, by: deadline).value()
  }
}

extension Method {
  static let promptInterface = "org.freedesktop.Secret.Prompt"

  static let readAlias = service("ReadAlias", "(o)")
  static let searchItems = service("SearchItems", "(aoao)")
  static let getSecrets = service("GetSecrets", "(a{o(oayays)})")
  static let lock = service("Lock", "(aoo)")
  static let unlock = service("Unlock", "(aoo)")
  static let createItem = Method(
    interface: "org.freedesktop.Secret.Collection", name: "CreateItem", replyType: "(oo)")
  static let deleteItem = Method(
    interface: "org.freedesktop.Secret.Item", name: "Delete", replyType: "(o)")
  static let prompt = Method(interface: promptInterface, name: "Prompt", replyType: "()")
  static let dismiss = Method(interface: promptInterface, name: "Dismiss", replyType: "()")
  static let getProperty = Method(
    interface: "org.freedesktop.DBus.Properties", name: "Get", replyType: "(v)")
  static let getAllProperties = Method(
    interface: "org.freedesktop.DBus.Properties", name: "GetAll", replyType: "(a{sv})")

  private static func service(_ name: String, _ replyType: String) -> Method {
    Method(interface: "org.freedesktop.Secret.Service", name: name, replyType: replyType)
  }
}
