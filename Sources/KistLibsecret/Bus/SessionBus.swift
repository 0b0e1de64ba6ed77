internal import CLibsecret

final class SessionBus {
  let connection: GObjectReference
  let loop: MainLoop
  /// Cancelled when the connection is released, so that nothing waits for answers any more.
  private let cancellable = Cancellable()

  private init(_ connection: GObjectReference, loop: MainLoop) {
    self.connection = connection
    self.loop = loop
  }

  deinit { cancellable.cancel() }

  /// Connects to the bus at an address; does not start a bus.
  static func connect(
    to address: String, on loop: MainLoop, by deadline: Deadline
  ) async throws(BusError) -> SessionBus {
    let connection: GObjectReference
    do throws(BusError) {
      connection = try await loop.value(by: deadline) { pending, cancellable in
        unsafe g_dbus_connection_new_for_address(
          address,
          GDBusConnectionFlags(
            G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
              | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue),
          nil, cancellable.pointer, completeReply,
          pending.completion { result, error in
            // GLib's own threads may release the last reference to a connection, which needs a
            // running loop.
            let loop = unsafe Unmanaged.passRetained(loop).toOpaque()
            return unsafe kist_bus_connection_finish(
              result, loop, { unsafe Unmanaged<MainLoop>.fromOpaque($0!).release() }, &error
            ).map { unsafe GObjectReference(owning: UnsafeMutableRawPointer($0)) }
          })
      }
    } catch {
      switch error {
      case .timeout: throw error
      case .malformed: throw .wrongBusAddress
      default: throw .unreachableBus
      }
    }
    // Otherwise the end of the bus would end this process with SIGTERM.
    unsafe g_dbus_connection_set_exit_on_close(connection.opaque, 0)
    return SessionBus(connection, loop: loop)
  }

  /// Makes a call; wait for the answer with `value()`, so that several calls can be in progress.
  func call(
    _ method: Method, of object: ObjectPath, at name: String, _ arguments: [Variant],
    by deadline: Deadline
  ) throws(BusError) -> Pending<Variant> {
    let pending = Pending<Variant>()
    let timeout = gint(clamping: try deadline.remaining().milliseconds)
    let connection = connection
    let arguments = Variant.tuple(arguments)
    defer { extendLifetime(arguments) }
    unsafe method.replyType.withCString { type in
      unsafe g_dbus_connection_call(
        connection.opaque, name, object.rawValue, method.interface, method.name,
        arguments.pointer, g_variant_type_checked_(type), G_DBUS_CALL_FLAGS_NO_AUTO_START, timeout,
        cancellable.pointer, completeReply,
        pending.completion { result, error in
          unsafe g_dbus_connection_call_finish(connection.opaque, result, &error)
            .map { unsafe Variant(owning: $0) }
        })
    }
    return pending
  }

  /// Calls the function with the arguments of each signal, until the subscription is released.
  ///
  /// The signals are those of one object, or of all. With an `argument`, only signals that have it
  /// as their first argument count.
  func subscribe(
    to signal: String, _ interface: String, of object: ObjectPath?, from sender: String,
    about argument: String? = nil, _ body: @escaping (Variant) -> Void
  ) -> Registration {
    let number =
      unsafe g_dbus_connection_signal_subscribe(
        connection.opaque, sender, interface, signal, object?.rawValue, argument,
        G_DBUS_SIGNAL_FLAGS_NONE,
        { _, _, _, _, _, arguments, handler in
          let arguments = unsafe Variant(owning: g_variant_ref(arguments))
          unsafe Callback.perform(handler, arguments)
        }, Callback(body).retained(), { unsafe Callback<Variant>.release($0) })
    return Registration { [connection] in
      unsafe g_dbus_connection_signal_unsubscribe(connection.opaque, number)
    }
  }

  /// Calls the function when the connection is closed, until the subscription is released.
  func subscribeToClosing(_ body: @escaping () -> Void) -> Registration {
    let number = unsafe kist_connect_to_closing(
      connection.opaque, { unsafe Work.perform($0, ()) }, Work(body).retained(),
      { work, _ in unsafe Work.release(work) })
    return Registration { [connection] in
      unsafe g_signal_handler_disconnect(UnsafeMutableRawPointer(connection.opaque), number)
    }
  }
}

/// A method of an interface, with its reply type in D-Bus notation.
struct Method: Sendable {
  let interface: String
  let name: String
  let replyType: String

  init(_ interface: String, _ name: String, _ replyType: String) {
    self.interface = interface
    self.name = name
    self.replyType = replyType
  }
}

/// A subscription to a signal, or a timer, which ends when it is released.
final class Registration {
  private let end: () -> Void

  init(ending end: @escaping () -> Void) { self.end = end }

  deinit { end() }
}

/// Names and their owners on the bus (D-Bus specification, "Message Bus Messages").
extension SessionBus {
  private static let name = "org.freedesktop.DBus"
  private static let object = ObjectPath(rawValue: "/org/freedesktop/DBus")

  /// Returns the connection that owns a name, after the bus starts its program if possible.
  ///
  /// Throws `ownProvider` if that connection is the program that owns `ownName`. If the bus could
  /// start this program, it throws as well, and starts none.
  func owner(
    of name: String, unlessOf ownName: String, by deadline: Deadline
  ) async throws(BusError) -> String {
    let owner =
      if let owner = try await currentOwner(of: name, by: deadline) {
        owner
      } else {
        try await startedOwner(of: name, unlessOf: ownName, by: deadline)
      }
    guard try await currentOwner(of: ownName, by: deadline) != owner else { throw .ownProvider }
    return owner
  }

  private func startedOwner(
    of name: String, unlessOf ownName: String, by deadline: Deadline
  ) async throws(BusError) -> String {
    let startable = try await startableNames(by: deadline)
    guard startable.contains(name) else { throw .noOwner }
    guard !startable.contains(ownName) else { throw .ownProvider }
    do throws(BusError) {
      _ = try await ask("StartServiceByName", "(u)", .string(name), .uint32(0), by: deadline)
    } catch {
      throw error == .timeout || error == .disconnected ? error : .startFailed
    }
    guard let owner = try await currentOwner(of: name, by: deadline) else { throw .noOwner }
    return owner
  }

  /// Calls the function with each later owner of a name; empty if the name has no owner.
  ///
  /// A connection's own name loses its owner when the connection leaves the bus.
  func subscribeToOwners(of name: String, _ body: @escaping (String) -> Void) -> Registration {
    subscribe(
      to: "NameOwnerChanged", Self.name, of: Self.object, from: Self.name, about: name
    ) { arguments in
      if arguments.isOfType("(sss)") { body(arguments.children[2].string) }
    }
  }

  /// Returns the names for which the bus can start a program.
  func startableNames(by deadline: Deadline) async throws(BusError) -> [String] {
    try await ask("ListActivatableNames", "(as)", by: deadline).children.map(\.string)
  }

  /// Returns the process of a connection.
  func processIdentifier(of owner: String, by deadline: Deadline) async throws(BusError) -> Int {
    Int(try await ask("GetConnectionUnixProcessID", "(u)", .string(owner), by: deadline).uint32)
  }

  /// Returns the connection that owns a name now, or `nil`.
  func currentOwner(
    of name: String, by deadline: Deadline
  ) async throws(BusError) -> String? {
    let owner: String
    do throws(BusError) {
      owner = try await ask("GetNameOwner", "(s)", .string(name), by: deadline).string
    } catch {
      guard error == .noOwner else { throw error }
      return nil
    }
    // GLib drops a call to an invalid name, and never answers it.
    guard unsafe g_dbus_is_unique_name(owner) != 0 else { throw .malformed }
    return owner
  }

  /// Calls a method of the bus itself and returns the only value in its answer.
  private func ask(
    _ method: String, _ replyType: String, _ arguments: Variant..., by deadline: Deadline
  ) async throws(BusError) -> Variant {
    try await call(
      Method(Self.name, method, replyType), of: Self.object, at: Self.name, arguments, by: deadline
    ).value().children[0]
  }
}

/// The moment by which a request must be answered.
struct Deadline: Sendable {
  private let instant: ContinuousClock.Instant

  init(after duration: Duration) { instant = .now + duration }

  /// Returns the remaining time; throws if none is left.
  func remaining() throws(BusError) -> Duration {
    let remaining = ContinuousClock.now.duration(to: instant)
    guard remaining > .zero else { throw .timeout }
    return remaining
  }
}
