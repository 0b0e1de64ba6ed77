internal import KistBus
internal import KistSecretService

/// An interface of an object: what programs can call, read and receive.
///
/// Introspection and the check of each call's types use the same table. It is a class, so that a call
/// does not copy the table.
final class Interface: Sendable {
  let name: String
  let methods: [Method]
  let properties: [PropertyType]
  let signals: [SignalType]

  init(
    name: String, methods: [Method] = [], properties: [PropertyType] = [],
    signals: [SignalType] = []
  ) {
    self.name = name
    self.methods = methods
    self.properties = properties
    self.signals = signals
  }
}

/// A name and a type, such as `session` and `o`.
struct Argument: Sendable {
  let name: String
  let type: String

  init(_ name: String, _ type: String) { (self.name, self.type) = (name, type) }
}

final class Method: Sendable {
  let name: String
  let input: [Argument]
  /// The types of the input, as the signature of a call.
  let inputTypes: String
  let output: [Argument]
  let run: @Sendable (SecretService, Call) async throws -> BusMessage

  init(
    _ name: String, _ input: [Argument] = [], returns output: [Argument] = [],
    run: @escaping @Sendable (SecretService, Call) async throws -> BusMessage
  ) {
    self.name = name
    self.input = input
    inputTypes = input.map(\.type).joined()
    self.output = output
    self.run = run
  }
}

struct PropertyType: Sendable {
  let name: String
  let type: String
  let isWritable: Bool

  init(_ name: String, _ type: String, isWritable: Bool = false) {
    self.name = name
    self.type = type
    self.isWritable = isWritable
  }
}

struct SignalType: Sendable {
  let name: String
  let arguments: [Argument]

  init(_ name: String, _ arguments: [Argument]) { (self.name, self.arguments) = (name, arguments) }
}

/// A call that is answered.
final class Call {
  let message: BusMessage
  /// The unique name of the program that calls.
  let client: String
  let object: ObjectPath
  /// The bus, by which a call of the portal waits; `nil` for a call that came over none.
  let bus: Bus?
  /// Ends the task that answers the call, if it has one of its own.
  let stop: @Sendable () -> Void
  /// The prompt to show after the reply was sent.
  var promptToShow: String?

  init(
    _ message: BusMessage, from client: String, to object: ObjectPath, on bus: Bus? = nil,
    stop: @escaping @Sendable () -> Void = {}
  ) {
    self.message = message
    self.client = client
    self.object = object
    self.bus = bus
    self.stop = stop
  }

  /// Returns the reply with the content that the body writes.
  func reply(_ write: (BusMessage) -> Void = { _ in }) -> BusMessage {
    let reply = message.reply()
    write(reply)
    return reply
  }

  /// The collection that the call is for.
  func collection() throws -> String {
    guard case .collection(let collection) = object else { throw ServiceError.noSuchObject }
    return collection
  }
}

extension ObjectPath {
  /// The interfaces of the object, besides the common ones.
  var interface: Interface? {
    switch self {
    case .service: .service
    case .collection: .collection
    case .item: .item
    case .session: .session
    case .prompt: .prompt
    case .portal: .portal
    case .request: .request
    case .node: nil
    }
  }

  /// Returns the interfaces of the object, or the one of this name.
  func interfaces(named name: String?) throws(BusError) -> [Interface] {
    let own = interface
    // Nearly every call names it.
    if let own, own.name == name { return [own] }
    let all = own.map { [$0, .introspectable, .properties] } ?? [.introspectable]
    guard let name else { return all }
    guard let found = all.first(where: { $0.name == name }) else {
      throw BusError("org.freedesktop.DBus.Error.UnknownInterface", "there is no such interface")
    }
    return [found]
  }
}

extension [Interface] {
  /// Returns the first method with this name.
  func firstMethod(named name: String) -> Method? {
    for interface in self {
      if let method = interface.methods.first(where: { $0.name == name }) { return method }
    }
    return nil
  }
}
