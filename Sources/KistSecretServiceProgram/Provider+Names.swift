internal import KistBus
internal import KistCore

extension Provider {
  /// Takes the names; ends the service if another program has one of them for longer than `patience`.
  func takeNames(patience: Duration = .zero) async {
    let latest = ContinuousClock.now + patience
    do throws(BusError) {
      let match = busCall("AddMatch")
      match.write(
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
          + "member='NameOwnerChanged',arg2=''")
      _ = try await bus.reply(to: match)
      for name in Self.names {
        while try await !take(name) {
          guard ContinuousClock.now < latest else {
            return end(
              StorageError(
                .unavailable,
                "\(await owner(of: name)) already provides the Secret Service on this bus",
                hint: "stop it first, or keep it: kist works with it, too"))
          }
          await bus.sleep(for: .milliseconds(20))
        }
      }
    } catch {
      end(
        StorageError(
          .unavailable, "cannot use the session bus: \(error.message)"))
    }
  }

  /// Takes a name; returns `false` if another program has it.
  private func take(_ name: String) async throws(BusError) -> Bool {
    let request = busCall("RequestName")
    request.write(name)
    // DO_NOT_QUEUE, and no permission for others to replace it.
    request.write(UInt32(4))
    return try await bus.reply(to: request).readUInt32() == 1
  }

  /// Describes the program that has a name.
  private func owner(of name: String) async -> String {
    let request = busCall("GetConnectionUnixProcessID")
    request.write(name)
    guard let process = try? await bus.reply(to: request).readUInt32() else {
      return "another program"
    }
    return "the process \(process)"
  }

  func busCall(_ member: String) -> BusMessage {
    bus.makeCall(
      to: "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member)
  }
}
