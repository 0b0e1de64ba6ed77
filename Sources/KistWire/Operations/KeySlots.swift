package import KistCore
package import KistJSON

extension Operation where Input == Void, Output == [KeySlotSummary] {
  /// Lists the key slots.
  static var slots: Self { Operation(name: "slots", keys: [], request: .nothing, reply: slotList) }
}

extension Operation where Input == KeySlotAddition, Output == [KeySlotSummary] {
  /// Adds a passphrase to the key slots.
  static var slotAdd: Self {
    Operation(
      name: "slotAdd", effect: .change,
      keys: ["passphrase", "current", "currentKey", "replaceCurrent", "weak"],
      request: slotAddition, reply: slotList)
  }
}

extension Operation where Input == KeySlotRemoval, Output == [KeySlotSummary] {
  /// Removes a key slot.
  static var slotRemove: Self {
    Operation(
      name: "slotRemove", effect: .change, keys: ["number", "current", "currentKey"],
      request: slotRemoval, reply: slotList)
  }
}

private let slotAddition = Codec<KeySlotAddition>(
  read: { object throws(JSONError) in
    KeySlotAddition(
      passphrase: try object.required("passphrase").secret(),
      current: try object["current"]?.secret(),
      currentKey: try object["currentKey"]?.base64(),
      replacesCurrent: try object["replaceCurrent"]?.bool() ?? false,
      allowsWeak: try object["weak"]?.bool() ?? false)
  },
  write: { addition, writer throws(StorageError) in
    try writer.member("passphrase", passphrase: addition.passphrase)
    try writer.member("current", passphrase: addition.current)
    if let key = addition.currentKey { writer.member("currentKey", base64: key) }
    if addition.replacesCurrent { writer.member("replaceCurrent", true) }
    if addition.allowsWeak { writer.member("weak", true) }
  })

private let slotRemoval = Codec<KeySlotRemoval>(
  read: { object throws(JSONError) in
    KeySlotRemoval(
      number: try object.required("number").integer(),
      current: try object["current"]?.secret(),
      currentKey: try object["currentKey"]?.base64())
  },
  write: { removal, writer throws(StorageError) in
    writer.member("number", removal.number)
    try writer.member("current", passphrase: removal.current)
    if let key = removal.currentKey { writer.member("currentKey", base64: key) }
  })

private let slotList = Codec<[KeySlotSummary]>(
  read: { object throws(JSONError) in try object.objects("slots", KeySlotSummary.init) },
  write: { slots, writer in writer.member("slots", objects: slots) })

extension KeySlotSummary: JSONMembers {
  fileprivate init(_ object: JSONObject) throws(JSONError) {
    self.init(
      number: try object.required("number").integer(),
      kind: Kind(rawValue: try object.required("kind").string()),
      passes: try object["passes"]?.integer(), kibibytes: try object["kibibytes"]?.integer())
  }

  /// Writes the protocol's slot.
  package func write(to writer: inout JSONWriter) {
    writer.member("number", number)
    writer.member("kind", kind.rawValue)
    writer.member("passes", passes)
    writer.member("kibibytes", kibibytes)
  }
}
