internal import KistBus
internal import KistCore
internal import KistSecretService

extension Interface {
  static let properties = Interface(
    name: "org.freedesktop.DBus.Properties",
    methods: [
      Method(
        "Get", [Argument("interface", "s"), Argument("property", "s")],
        returns: [Argument("value", "v")]
      ) { service, call in
        let interface = try call.object.interface(named: try call.message.readString())
        let type = try interface.property(named: try call.message.readString())
        let value = try await service.value(of: type.name, call.object)
        return call.reply { $0.write(value) }
      },
      Method(
        "GetAll", [Argument("interface", "s")], returns: [Argument("properties", "a{sv}")]
      ) { service, call in
        let interface = try call.object.interface(named: try call.message.readString())
        let values =
          interface.properties.isEmpty ? [] : try await service.properties(of: call.object)
        return call.reply { $0.write(values) }
      },
      Method(
        "Set", [Argument("interface", "s"), Argument("property", "s"), Argument("value", "v")]
      ) { service, call in
        let interface = try call.object.interface(named: try call.message.readString())
        let type = try interface.property(named: try call.message.readString())
        guard type.isWritable else {
          throw BusError(
            "org.freedesktop.DBus.Error.PropertyReadOnly", "the property cannot be changed")
        }
        try await service.set(type.name, of: call.object, from: call.message)
        return call.reply()
      },
    ],
    signals: [
      SignalType(
        "PropertiesChanged",
        [
          Argument("interface", "s"), Argument("changed", "a{sv}"), Argument("invalidated", "as"),
        ])
    ])
}

extension ObjectPath {
  fileprivate func interface(named name: String) throws(BusError) -> Interface {
    // Some programs give no name.
    try interfaces(named: name.isEmpty ? nil : name)[0]
  }
}

extension Interface {
  fileprivate func property(named name: String) throws(BusError) -> PropertyType {
    guard let property = properties.first(where: { $0.name == name }) else {
      throw BusError("org.freedesktop.DBus.Error.UnknownProperty", "there is no such property")
    }
    return property
  }
}

extension SecretService {
  fileprivate func properties(of object: ObjectPath) async throws -> [Property] {
    switch object {
    case .service: [Property("Collections", .paths(try await knownCollections()))]
    case .collection(let collection): try await properties(ofCollection: collection)
    case .item: try await properties(ofItem: object)
    case .portal: [Property("version", .number(1))]
    default: []
    }
  }

  fileprivate func value(of name: String, _ object: ObjectPath) async throws -> PropertyValue {
    switch (object, name) {
    case (.collection(let collection), "Label"):
      return .text(try await label(ofCollection: collection))
    case (.item, "Locked"): return .flag(try await isItemLocked(object))
    default:
      guard let found = try await properties(of: object).first(where: { $0.name == name }) else {
        throw ServiceError.noSuchObject
      }
      return found.value
    }
  }

  fileprivate func set(
    _ name: String, of object: ObjectPath, from message: BusMessage
  ) async throws {
    switch (object, name) {
    case (.collection(let collection), "Label"):
      try await setLabel(try message.readTextVariant(), ofCollection: collection)
    case (.item, "Label"): try await setLabel(try message.readTextVariant(), of: object)
    case (.item, "Attributes"):
      let attributes = try message.readVariant(of: "a{ss}") { () throws(BusError) in
        try message.readTexts()
      }
      try await setAttributes(attributes, of: object)
    default: throw ServiceError.noSuchObject
    }
  }
}

extension BusMessage {
  fileprivate func readTextVariant() throws(BusError) -> String {
    try readVariant(of: "s") { () throws(BusError) in try readString() }
  }

  func write(_ values: [Property]) {
    writeArray(of: "{sv}") {
      for property in values {
        writeEntry(of: "sv") {
          write(property.name)
          write(property.value)
        }
      }
    }
  }

  /// Writes a variant.
  func write(_ value: PropertyValue) {
    switch value {
    case .text(let text): writeVariant(of: "s") { write(text) }
    case .flag(let flag): writeVariant(of: "b") { write(flag) }
    case .seconds(let seconds): writeVariant(of: "t") { write(seconds) }
    case .number(let number): writeVariant(of: "u") { write(number) }
    case .paths(let paths): writeVariant(of: "ao") { write(paths: paths) }
    case .texts(let texts): writeVariant(of: "a{ss}") { write(texts.sorted) }
    }
  }
}
