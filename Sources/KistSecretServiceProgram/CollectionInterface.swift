internal import KistBus
internal import KistSecretService

extension Interface {
  static let collection = Interface(
    name: InterfaceName.collection,
    methods: [
      Method("Delete", returns: [Argument("prompt", "o")]) { service, call in
        let prompt = try await service.deleteCollection(
          try call.collection(), for: call.client)
        return call.reply { $0.write(path: prompt) }
      },
      Method(
        "SearchItems", [Argument("attributes", "a{ss}")], returns: [Argument("results", "ao")]
      ) { service, call in
        let found = try await service.search(
          try call.message.readTexts(), in: try call.collection(), for: call.client)
        return call.reply { $0.write(paths: found.unlocked + found.locked) }
      },
      Method(
        "CreateItem",
        [
          Argument("properties", "a{sv}"), Argument("secret", secret), Argument("replace", "b"),
        ], returns: [Argument("item", "o"), Argument("prompt", "o")]
      ) { service, call in
        let properties = try call.message.readNewProperties(of: InterfaceName.item)
        let sent = try call.message.readSecret()
        let item = NewItem(
          label: properties.label, attributes: properties.attributes, secret: sent,
          replacesExact: try call.message.readBoolean())
        let path = try await service.create(item, in: try call.collection(), for: call.client)
        return call.reply { reply in
          reply.write(path: path)
          reply.write(path: ObjectPath.none)
        }
      },
    ],
    properties: [
      PropertyType("Items", "ao"), PropertyType("Label", "s", isWritable: true),
      PropertyType("Locked", "b"), PropertyType("Created", "t"), PropertyType("Modified", "t"),
    ],
    signals: ["ItemCreated", "ItemDeleted", "ItemChanged"].map {
      SignalType($0, [Argument("item", "o")])
    })

  static let item = Interface(
    name: InterfaceName.item,
    methods: [
      Method("Delete", returns: [Argument("prompt", "o")]) { service, call in
        try await service.deleteItem(call.object)
        return call.reply { $0.write(path: ObjectPath.none) }
      },
      Method("GetSecret", [Argument("session", "o")], returns: [Argument("secret", secret)]) {
        service, call in
        let sent = try await service.secret(
          of: call.object, in: try call.message.readPath(), for: call.client)
        return call.reply { reply in
          reply.markSensitive()
          reply.write(sent)
        }
      },
      Method("SetSecret", [Argument("secret", secret)]) { service, call in
        try await service.setSecret(
          try call.message.readSecret(), of: call.object, for: call.client)
        return call.reply()
      },
    ],
    properties: [
      PropertyType("Locked", "b"), PropertyType("Attributes", "a{ss}", isWritable: true),
      PropertyType("Label", "s", isWritable: true), PropertyType("Created", "t"),
      PropertyType("Modified", "t"),
    ])
}
