internal import KistBus
internal import KistCore
internal import KistSecretService

extension Interface {
  /// The type of a secret: the path of the session, the parameters, the value, the content type.
  static let secret = "(oayays)"

  static let service = Interface(
    name: InterfaceName.service,
    methods: [
      Method(
        "OpenSession", [Argument("algorithm", "s"), Argument("input", "v")],
        returns: [Argument("output", "v"), Argument("result", "o")]
      ) { service, call in
        let (output, path) = try service.openSession(
          try call.message.readAlgorithm(), for: call.client)
        return call.reply { reply in
          if let output {
            reply.writeVariant(of: "ay") { reply.write(output) }
          } else {
            reply.writeVariant(of: "s") { reply.write("") }
          }
          reply.write(path: path)
        }
      },
      Method(
        "CreateCollection", [Argument("properties", "a{sv}"), Argument("alias", "s")],
        returns: [Argument("collection", "o"), Argument("prompt", "o")]
      ) { service, call in
        let label = try call.message.readNewProperties(of: InterfaceName.collection).label
        let path = try await service.createCollection(
          label: label, alias: try call.message.readString())
        return call.reply { reply in
          reply.write(path: path)
          reply.write(path: ObjectPath.none)
        }
      },
      Method(
        "SearchItems", [Argument("attributes", "a{ss}")],
        returns: [Argument("unlocked", "ao"), Argument("locked", "ao")]
      ) { service, call in
        let found = try await service.search(try call.message.readTexts(), for: call.client)
        return call.reply { reply in
          reply.write(paths: found.unlocked)
          reply.write(paths: found.locked)
        }
      },
      Method(
        "Unlock", [Argument("objects", "ao")],
        returns: [Argument("unlocked", "ao"), Argument("prompt", "o")]
      ) { service, call in
        let result = try await service.unlock(try call.message.readLimitedPaths(), for: call.client)
        return call.reply { reply in
          reply.write(paths: result.unlocked)
          reply.write(path: result.prompt)
        }
      },
      Method(
        "Lock", [Argument("objects", "ao")],
        returns: [Argument("locked", "ao"), Argument("prompt", "o")]
      ) { service, call in
        let locked = try await service.lock(try call.message.readLimitedPaths())
        return call.reply { reply in
          reply.write(paths: locked)
          reply.write(path: ObjectPath.none)
        }
      },
      Method(
        "GetSecrets", [Argument("items", "ao"), Argument("session", "o")],
        returns: [Argument("secrets", "a{o\(secret)}")]
      ) { service, call in
        let paths = try call.message.readLimitedPaths()
        let secrets = try await service.secrets(
          of: paths, in: try call.message.readPath(), for: call.client)
        return call.reply { reply in
          reply.markSensitive()
          reply.writeArray(of: "{o\(secret)}") {
            for (path, secret) in secrets {
              reply.writeEntry(of: "o\(Interface.secret)") {
                reply.write(path: path)
                reply.write(secret)
              }
            }
          }
        }
      },
      Method("ReadAlias", [Argument("name", "s")], returns: [Argument("collection", "o")]) {
        service, call in
        let path = try await service.collection(ofAlias: try call.message.readString())
        return call.reply { $0.write(path: path) }
      },
      Method("SetAlias", [Argument("name", "s"), Argument("collection", "o")]) { service, call in
        let alias = try call.message.readString()
        try await service.setAlias(alias, to: try call.message.readPath())
        return call.reply()
      },
    ],
    properties: [PropertyType("Collections", "ao")],
    signals: ["CollectionCreated", "CollectionDeleted", "CollectionChanged"].map {
      SignalType($0, [Argument("collection", "o")])
    })

  static let session = Interface(
    name: InterfaceName.session,
    methods: [
      Method("Close") { service, call in
        guard case .session(let identifier) = call.object else { throw ServiceError.noSuchObject }
        try service.closeSession(identifier, of: call.client)
        return call.reply()
      }
    ])

  static let prompt = Interface(
    name: InterfaceName.prompt,
    methods: [
      Method("Prompt", [Argument("window_id", "s")]) { service, call in
        guard case .prompt(let identifier) = call.object else { throw ServiceError.noSuchObject }
        try service.beginPrompt(
          identifier, for: call.client, window: try call.message.readString())
        call.promptToShow = identifier
        return call.reply()
      },
      Method("Dismiss") { service, call in
        guard case .prompt(let identifier) = call.object else { throw ServiceError.noSuchObject }
        try service.dismissPrompt(identifier, for: call.client)
        return call.reply()
      },
    ],
    signals: [
      SignalType("Completed", [Argument("dismissed", "b"), Argument("result", "v")])
    ])
}

extension BusMessage {
  fileprivate func readAlgorithm() throws -> Algorithm {
    switch try readString() {
    case "plain":
      try skip("v")
      return .plain
    case Algorithm.dhName:
      let key = try readVariant(of: "ay") { () throws(BusError) in try readBytes() }
      return .dh(key.withBytes { [UInt8](copying: $0) })
    default:
      throw ServiceError.notSupported("the algorithms are plain and \(Algorithm.dhName)")
    }
  }

  fileprivate func readLimitedPaths() throws -> [String] {
    let paths = try readPaths()
    guard paths.count <= ServiceLimits.paths else {
      throw ServiceError.overLimit("a call may have \(ServiceLimits.paths) paths")
    }
    return paths
  }

  /// Reads the properties of a new object, by their full names.
  func readNewProperties(of interface: String) throws -> (
    label: String, attributes: Attributes
  ) {
    var label = ""
    var attributes: Attributes = [:]
    try readVariants { name throws(BusError) in
      switch name {
      case interface + ".Label":
        label = try readVariant(of: "s") { () throws(BusError) in try readString() }
      case interface + ".Attributes" where interface == InterfaceName.item:
        attributes = try readVariant(of: "a{ss}") { () throws(BusError) in try readTexts() }
      // A draft of the specification had a type of items.
      case interface + ".Type" where interface == InterfaceName.item: try skip("v")
      default:
        throw .invalidArguments("a new object has only a label and, if it is an item, attributes")
      }
    }
    return (label, attributes)
  }

  func readSecret() throws(BusError) -> SentSecret {
    try readStructure(of: "oayays") { () throws(BusError) in
      let session = try readPath()
      let parameters = try readBytes()
      let value = try readBytes()
      return SentSecret(
        session: session,
        parameters: parameters.withBytes { [UInt8](copying: $0) },
        value: value, contentType: try readString())
    }
  }

  func write(_ secret: SentSecret) {
    writeStructure(of: "oayays") {
      write(path: secret.session)
      write(secret.parameters)
      write(secret.value)
      write(secret.contentType)
    }
  }
}
