#if SecretService
  import KistBus
  import KistCore
  import KistSystem

  /// A program on a bus that uses the Secret Service, with its own connection and thread.
  actor BusClient {
    nonisolated let bus: Bus
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe bus.asUnownedSerialExecutor()
    }
    /// The signals that arrived: the last element of the path, the name, and the first path in it.
    private(set) var signals: [String] = []
    private(set) var completed: [(isDismissed: Bool, type: String, paths: [String])] = []

    private init(_ bus: Bus) { self.bus = bus }

    static func connect(to address: String) async throws -> BusClient {
      try await withCheckedThrowingContinuation { continuation in
        startThread {
          do throws(BusError) {
            let bus = try Bus(address: address)
            let client = BusClient(bus)
            continuation.resume(returning: client)
            _ = bus.run { message in client.assumeIsolated { $0.take(message) } }
          } catch { continuation.resume(throwing: error) }
        }
      }
    }

    private func take(_ message: BusMessage) {
      guard message.kind == .signal else { return }
      if message.member == "Completed" {
        guard let isDismissed = try? message.readBoolean(),
          let type = try? message.variantType()
        else { return }
        let paths = try? message.readVariant(
          of: "ao", { () throws(BusError) in try message.readPaths() })
        completed.append((isDismissed, type, paths ?? []))
        return
      }
      let argument =
        message.signature == "o" ? (try? message.readPath()) : try? message.readString()
      signals.append("\(message.member) \(argument ?? "")")
    }

    /// Asks for all signals of the Secret Service.
    func listen() async throws {
      let match = bus.makeCall(
        to: "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch")
      match.write("type='signal',path_namespace='/org/freedesktop/secrets'")
      _ = try await bus.reply(to: match)
    }

    /// Takes a name on the bus that no other program has.
    func takeName(_ name: String) async throws {
      let request = bus.makeCall(
        to: "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName")
      request.write(name)
      request.write(UInt32(0))
      _ = try await bus.reply(to: request)
    }

    /// Sends a call, and returns what `read` takes from the reply.
    func call<Value: Sendable>(
      _ path: String, _ interface: String, _ member: String,
      _ write: @Sendable (BusMessage) -> Void = { _ in },
      read: @Sendable (BusMessage) throws -> Value
    ) async throws -> Value {
      let call = bus.makeCall(to: "org.freedesktop.secrets", path, interface, member)
      write(call)
      return try read(try await bus.reply(to: call))
    }

    func call(
      _ path: String, _ interface: String, _ member: String,
      _ write: @Sendable (BusMessage) -> Void = { _ in }
    ) async throws { try await call(path, interface, member, write, read: { _ in }) }
  }

  let root = "/org/freedesktop/secrets"
  let login = root + "/collection/login"
  let defaultAlias = root + "/aliases/default"

  extension BusClient {
    func openPlainSession() async throws -> String {
      try await call(
        root, "org.freedesktop.Secret.Service", "OpenSession",
        { call in
          call.write("plain")
          call.writeVariant(of: "s") { call.write("") }
        },
        read: { reply in
          try reply.skip("v")
          return try reply.readPath()
        })
    }

    func create(
      _ secret: String, _ attributes: [(name: String, value: String)], label: String = "label",
      replace: Bool = true, in collection: String = defaultAlias, session: String,
      contentType: String = "text/plain"
    ) async throws -> String {
      try await call(
        collection, "org.freedesktop.Secret.Collection", "CreateItem",
        { call in
          call.writeArray(of: "{sv}") {
            call.writeEntry(of: "sv") {
              call.write("org.freedesktop.Secret.Item.Label")
              call.writeVariant(of: "s") { call.write(label) }
            }
            call.writeEntry(of: "sv") {
              call.write("org.freedesktop.Secret.Item.Attributes")
              call.writeVariant(of: "a{ss}") { call.write(attributes) }
            }
          }
          call.writeStructure(of: "oayays") {
            call.write(path: session)
            call.write([UInt8]())
            call.write(Array(secret.utf8))
            call.write(contentType)
          }
          call.write(replace)
        }, read: { try $0.readPath() })
    }

    func search(
      _ attributes: [(name: String, value: String)]
    ) async throws -> (unlocked: [String], locked: [String]) {
      try await call(
        root, "org.freedesktop.Secret.Service", "SearchItems", { $0.write(attributes) },
        read: { (try $0.readPaths(), try $0.readPaths()) })
    }

    func secret(of item: String, session: String) async throws -> (text: String, type: String) {
      try await call(
        item, "org.freedesktop.Secret.Item", "GetSecret", { $0.write(path: session) },
        read: { reply in
          try reply.readStructure(of: "oayays") { () throws(BusError) in
            _ = try reply.readPath()
            _ = try reply.readBytes()
            let text = try reply.readBytes().withBytes { String(repairing: $0) }
            return (text, try reply.readString())
          }
        })
    }

    /// Returns the result of Unlock or of Lock: the paths, and the path of the prompt.
    func move(
      _ member: String, _ paths: [String]
    ) async throws -> (paths: [String], prompt: String) {
      try await call(
        root, "org.freedesktop.Secret.Service", member, { $0.write(paths: paths) },
        read: { (try $0.readPaths(), try $0.readPath()) })
    }

    func show(_ prompt: String, window: String = "") async throws {
      try await call(prompt, "org.freedesktop.Secret.Prompt", "Prompt") { $0.write(window) }
    }

    func dismiss(_ prompt: String) async throws {
      try await call(prompt, "org.freedesktop.Secret.Prompt", "Dismiss")
    }

    func makeCollection(_ label: String, alias: String = "") async throws -> String {
      try await call(
        root, "org.freedesktop.Secret.Service", "CreateCollection",
        { call in
          call.writeArray(of: "{sv}") {
            call.writeEntry(of: "sv") {
              call.write("org.freedesktop.Secret.Collection.Label")
              call.writeVariant(of: "s") { call.write(label) }
            }
          }
          call.write(alias)
        }, read: { try $0.readPath() })
    }

    /// Deletes a collection, and returns the path of the prompt.
    func delete(collection: String) async throws -> String {
      try await call(
        collection, "org.freedesktop.Secret.Collection", "Delete", read: { try $0.readPath() })
    }

    func text(_ property: String, of path: String, _ interface: String) async throws -> String {
      try await call(
        path, "org.freedesktop.DBus.Properties", "Get",
        { call in
          call.write("org.freedesktop.Secret." + interface)
          call.write(property)
        },
        read: { reply in
          try reply.readVariant(of: "s") { () throws(BusError) in try reply.readString() }
        })
    }

    func setLabel(
      _ label: String, of path: String, _ interface: String = "Item"
    ) async throws {
      try await call(path, "org.freedesktop.DBus.Properties", "Set") { call in
        call.write("org.freedesktop.Secret." + interface)
        call.write("Label")
        call.writeVariant(of: "s") { call.write(label) }
      }
    }

    func paths(_ property: String, of path: String, _ interface: String) async throws -> [String] {
      try await call(
        path, "org.freedesktop.DBus.Properties", "Get",
        { call in
          call.write("org.freedesktop.Secret." + interface)
          call.write(property)
        },
        read: { reply in
          try reply.readVariant(of: "ao") { () throws(BusError) in try reply.readPaths() }
        })
    }
  }
#endif
