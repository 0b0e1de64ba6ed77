internal import KistCore

/// A connection to the keyring's provider (Secret Service specification 0.2).
///
/// It does not use libsecret's proxies, because they read every property of every item that is
/// found.
final class SecretService {
  static let name = "org.freedesktop.secrets"
  /// The name that kist's own provider, the Secret Service adapter, also owns.
  ///
  /// It serves the credentials of kistd, so kistd must not keep its credentials there. Where the
  /// adapter is set up, the bus can start this name, too.
  static let ownName = "io.kist.SecretService"

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
    owner = try await bus.owner(of: Self.name, unlessOf: Self.ownName, by: deadline)
    session = try await CipherSession.open(on: bus, by: deadline)
  }
}

/// The provider as one request uses it: each call must be answered by the request's deadline.
struct Provider {
  let service: SecretService
  let deadline: Deadline

  /// Starts a call; wait for its answer with `value()`.
  func start(
    _ method: Method, of object: ObjectPath = .service, _ arguments: Variant...
  ) throws(BusError) -> Pending<Variant> {
    try service.bus.call(method, of: object, at: service.owner, arguments, by: deadline)
  }

  /// Makes a call and returns the values in its answer.
  func ask(
    _ method: Method, of object: ObjectPath = .service, _ arguments: Variant...
  ) async throws(BusError) -> [Variant] {
    try await service.bus.call(method, of: object, at: service.owner, arguments, by: deadline)
      .value().children
  }
}

extension Provider {
  /// Returns the default collection; `nil` if there is none.
  func defaultCollection() async throws(BusError) -> ObjectPath? {
    try await ask(.readAlias, .string("default"))[0].existingObject
  }

  /// Returns the items in open collections that have these attributes, and perhaps others.
  ///
  /// If there are items in locked collections, it calls `whenLocked`, which throws `locked` by
  /// default.
  func search(
    _ attributes: [String: String],
    whenLocked: ([ObjectPath]) throws(BusError) -> Void = { _ throws(BusError) in throw .locked }
  ) async throws(BusError) -> [ObjectPath] {
    let found = try await ask(.searchItems, .strings(attributes))
    let locked = found[1].objectPaths
    if !locked.isEmpty { try whenLocked(locked) }
    return found[0].objectPaths
  }

  /// Requests the values of items; the answer leaves out items that are locked or gone.
  func startGettingSecrets(of items: [ObjectPath]) throws(BusError) -> Pending<Variant> {
    try start(.getSecrets, .objectPaths(items), .objectPath(service.session.path))
  }

  /// Unlocks collections, or those of items, if that needs no prompt; otherwise returns the prompt.
  ///
  /// The prompt need not be shown: it ends with the connection.
  func unlock(_ objects: [ObjectPath]) async throws(BusError) -> ObjectPath? {
    try await ask(.unlock, .objectPaths(objects))[1].existingObject
  }

  /// Locks a collection, or returns the prompt that this requires.
  func lock(_ collection: ObjectPath) async throws(BusError) -> ObjectPath? {
    try await ask(.lock, .objectPaths([collection]))[1].existingObject
  }

  /// Requests the attributes of an item, `(v)` of `a{ss}`; the fastest of its properties.
  func startGettingAttributes(of item: ObjectPath) throws(BusError) -> Pending<Variant> {
    try start(.getProperty, of: item, .string(Method.itemInterface), .string("Attributes"))
  }

  /// Returns all properties of an item, `a{sv}`.
  func properties(of item: ObjectPath) async throws(BusError) -> Variant {
    try await ask(.getAllProperties, of: item, .string(Method.itemInterface))[0]
  }

  /// Deletes an item of an open collection; succeeds if another program has already deleted it.
  func delete(_ item: ObjectPath) async throws(BusError) {
    let prompt: ObjectPath?
    do throws(BusError) { prompt = try await ask(.deleteItem, of: item)[0].existingObject } catch {
      guard error == .noSuchObject else { throw error }
      return
    }
    if let prompt { try await answer(prompt) }
  }
}

extension ObjectPath {
  /// The object of the service's own methods.
  fileprivate static let service = ObjectPath(rawValue: "/org/freedesktop/secrets")
}

extension Variant {
  /// The path of an object; `nil` for the path that means that there is none.
  var existingObject: ObjectPath? { string == "/" ? nil : objectPath }
}

extension Method {
  static let serviceInterface = "org.freedesktop.Secret.Service"
  static let collectionInterface = "org.freedesktop.Secret.Collection"
  static let itemInterface = "org.freedesktop.Secret.Item"
  static let promptInterface = "org.freedesktop.Secret.Prompt"
  private static let properties = "org.freedesktop.DBus.Properties"

  static let readAlias = Method(serviceInterface, "ReadAlias", "(o)")
  static let searchItems = Method(serviceInterface, "SearchItems", "(aoao)")
  static let getSecrets = Method(serviceInterface, "GetSecrets", "(a{o(oayays)})")
  static let lock = Method(serviceInterface, "Lock", "(aoo)")
  static let unlock = Method(serviceInterface, "Unlock", "(aoo)")
  static let createItem = Method(collectionInterface, "CreateItem", "(oo)")
  static let deleteItem = Method(itemInterface, "Delete", "(o)")
  static let prompt = Method(promptInterface, "Prompt", "()")
  static let dismiss = Method(promptInterface, "Dismiss", "()")
  static let getProperty = Method(properties, "Get", "(v)")
  static let getAllProperties = Method(properties, "GetAll", "(a{sv})")
}
