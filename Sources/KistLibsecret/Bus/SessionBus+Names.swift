internal import CLibsecret

/// Names and their owners on the bus (D-Bus specification, "Message Bus Messages").
extension SessionBus {
  private static let name = "org.freedesktop.DBus"
  private static let object = ObjectPath(rawValue: "/org/freedesktop/DBus")

  /// Returns the connection that owns a name, after the bus starts its program if possible.
  func owner(of name: String, by deadline: Deadline) async throws(BusError) -> String {
    do throws(BusError) { return try await currentOwner(of: name, by: deadline) } catch {
      guard error == .noOwner else { throw error }
    }
    let startable = try await ask("ListActivatableNames", "(as)", by: deadline)
    guard startable.children.contains(where: { $0.string == name }) else { throw .noOwner }
    do throws(BusError) {
      _ = try await ask("StartServiceByName", "(u)", .string(name), .uint32(0), by: deadline)
    } catch {
      throw error == .timeout || error == .disconnected ? error : .startFailed
    }
    return try await currentOwner(of: name, by: deadline)
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

  private func currentOwner(
    of name: String, by deadline: Deadline
  ) async throws(BusError) -> String {
    let owner = try await ask("GetNameOwner", "(s)", .string(name), by: deadline).string
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
