#if SecretService
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  import KistTesting
  import Testing

  private let properties = "org.freedesktop.DBus.Properties"
  private let secret = "org.freedesktop.Secret."

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `The interfaces of the service` {
    /// Each method with arguments of other types than its own.
    @Test(arguments: [
      (root, "Service", "OpenSession", "s"), (root, "Service", "OpenSession", ""),
      (root, "Service", "CreateCollection", "a{ss}s"), (root, "Service", "SearchItems", "a{sv}"),
      (root, "Service", "Unlock", "as"), (root, "Service", "Lock", "o"),
      (root, "Service", "GetSecrets", "ao"), (root, "Service", "ReadAlias", "o"),
      (root, "Service", "SetAlias", "ss"), (login, "Collection", "Delete", "s"),
      (login, "Collection", "SearchItems", "s"), (login, "Collection", "CreateItem", "a{sv}"),
      (login + "/i0000000000000000", "Item", "Delete", "b"),
      (login + "/i0000000000000000", "Item", "GetSecret", "s"),
      (login + "/i0000000000000000", "Item", "SetSecret", "oayays"),
    ])
    func `refuse arguments of wrong types`(
      path: String, interface: String, member: String, types: String
    ) async throws {
      try await withService { (client, _) async throws in
        await expectError(invalidArguments) {
          try await client.call(path, secret + interface, member) { $0.writeSample(of: types) }
        }
      }
    }

    @Test(arguments: [
      (root, "Service", "Nothing", "UnknownProperty"),
      (login, "Collection", "Nothing", "UnknownProperty"),
      (root, "Nothing", "Collections", "UnknownInterface"),
      (root, "Item", "Label", "UnknownInterface"),
    ])
    func `refuse an unknown property by name`(
      path: String, interface: String, property: String, error: String
    ) async throws {
      try await withService { (client, _) async throws in
        for member in ["Get", "Set"] {
          await expectError("org.freedesktop.DBus.Error." + error) {
            try await client.call(path, properties, member) { call in
              call.write(secret + interface)
              call.write(property)
              if member == "Set" { call.writeSample(of: "v") }
            }
          }
        }
      }
    }

    @Test(arguments: ["Locked", "Created", "Modified"])
    func `refuse to change a property that is only read`(property: String) async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create("x", [("a", "b")], session: session)
        for (path, interface) in [(item, "Item"), (login, "Collection")] {
          await expectError("org.freedesktop.DBus.Error.PropertyReadOnly") {
            try await client.call(path, properties, "Set") { call in
              call.write(secret + interface)
              call.write(property)
              call.writeSample(of: "v")
            }
          }
        }
      }
    }

    @Test func `have each property with its type, on the path of an alias too`() async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create("x", [("a", "b")], session: session)
        for (path, interface, types) in [
          (root, "Service", ["Collections": "ao"]),
          (login, "Collection", collectionTypes), (defaultAlias, "Collection", collectionTypes),
          (root + "/aliases/session", "Collection", collectionTypes),
          (
            item, "Item",
            ["Attributes": "a{ss}", "Created": "t", "Label": "s", "Locked": "b", "Modified": "t"]
          ),
        ] {
          let found = try await client.call(
            path, properties, "GetAll", { $0.write(secret + interface) },
            read: { reply in
              var found: [String: String] = [:]
              try reply.readVariants { (name) throws(BusError) in
                found[name] = try reply.variantType()
                try reply.skip("v")
              }
              return found
            })
          #expect(found == types)
        }
        // An item below the path of an alias is the item.
        let below = defaultAlias + item.dropFirst(login.count)
        #expect(try await client.secret(of: below, session: session).text == "x")
      }
    }

    @Test func `refuse each public key whose shared secret everyone knows`() async throws {
      let prime = try #require(oakleyPrime)
      try await withService { (client, _) async throws in
        let almost: [UInt8] = Array(prime.dropLast()) + [0xFE]
        let keys: [[UInt8]] = [[], [0], [1], [0, 1], almost, prime, prime + [0], [0] + prime]
        for key in keys {
          await expectError(invalidArguments) {
            try await client.call(
              root, secret + "Service", "OpenSession",
              { call in
                call.write(Algorithm.dhName)
                call.writeVariant(of: "ay") { call.write(key) }
              })
          }
        }
      }
    }

    @Test(arguments: [("", "/"), ("nothing", "/"), ("default", login), ("login", login)])
    func `know the aliases`(name: String, path: String) async throws {
      try await withService { (client, _) async throws in
        let found = try await client.call(
          root, secret + "Service", "ReadAlias", { $0.write(name) }, read: { try $0.readPath() })
        #expect(found == path)
      }
    }

    @Test(arguments: [
      ("nothing", login, "org.freedesktop.DBus.Error.NotSupported"),
      ("default", root + "/collection/nothing", noSuchObject),
      ("default", root, noSuchObject),
      (
        "default", root + "/collection/session", "org.freedesktop.DBus.Error.NotSupported"
      ),
    ])
    func `refuse an alias that kist cannot have`(
      name: String, path: String, error: String
    ) async throws {
      try await withService { (client, _) async throws in
        await expectError(error) {
          try await client.call(
            root, secret + "Service", "SetAlias",
            { call in
              call.write(name)
              call.write(path: path)
            })
        }
      }
    }
  }

  private let collectionTypes = [
    "Created": "t", "Items": "ao", "Label": "s", "Locked": "b", "Modified": "t",
  ]

  /// The prime of RFC 2409, section 6.2.
  private var oakleyPrime: [UInt8]? {
    let digits =
      "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A0879"
      + "8E3404DDEF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B"
      + "0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF"
    let values = digits.compactMap(\.hexDigitValue)
    guard values.count == 256 else { return nil }
    return stride(from: 0, to: 256, by: 2).map { UInt8(values[$0] * 16 + values[$0 + 1]) }
  }

  extension BusMessage {
    /// Writes arguments of these types.
    fileprivate func writeSample(of types: String) {
      var rest = types[...]
      while let type = ["a{sv}", "a{ss}", "ao", "as", "ay", "s", "o", "b", "v"].first(where: {
        rest.hasPrefix($0)
      }) {
        rest = rest.dropFirst(type.count)
        switch type {
        case "a{sv}": writeArray(of: "{sv}") {}
        case "a{ss}": write([(name: String, value: String)]())
        case "ao": write(paths: [login])
        case "as": write(["x"])
        case "ay": write([UInt8]())
        case "s": write("x")
        case "o": write(path: login)
        case "b": write(true)
        default: writeVariant(of: "s") { write("x") }
        }
      }
    }
  }
#endif
