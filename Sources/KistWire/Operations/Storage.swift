package import KistCore
package import KistJSON

extension Operation where Input == Void, Output == StorageStatus {
  /// Describes the storage.
  static var status: Self {
    Operation(name: "status", keys: [], request: .nothing, reply: statusMember)
  }

  /// Forgets the keys of the storage.
  static var lock: Self {
    Operation(name: "lock", effect: .access, keys: [], request: .nothing, reply: statusMember)
  }
}

extension Operation where Input == Secret?, Output == StorageStatus {
  /// Opens the storage with its passphrase, or with the key that kistd was given.
  static var unlock: Self {
    Operation(
      name: "unlock", effect: .access, keys: ["passphrase"], request: passphraseMember,
      reply: statusMember)
  }
}

/// Refuses a passphrase that is too long, so that no storage spends time and memory on it.
func limitingPassphrase(
  _ unlock: @escaping @Sendable (Secret?) async throws(StorageError) -> StorageStatus
) -> @Sendable (Secret?) async throws(StorageError) -> StorageStatus {
  { passphrase throws(StorageError) in
    if let size = passphrase?.count, size > Limits.passphrase {
      throw .tooLarge("the passphrase", limit: Limits.passphrase, size: size)
    }
    return try await unlock(passphrase)
  }
}

private let passphraseMember = Codec<Secret?>(
  read: { object throws(JSONError) in try object["passphrase"]?.secret() },
  write: { value, writer throws(StorageError) in
    try writer.member("passphrase", passphrase: value)
  })

extension JSONWriter {
  mutating func member(_ name: StaticString, passphrase: Secret?) throws(StorageError) {
    guard let passphrase else { return }
    guard passphrase.withBytes(textCount(of:)) != nil else {
      throw .badRequest("the passphrase is not text in UTF-8")
    }
    member(name, text: passphrase)
  }
}

private let statusMember = Codec<StorageStatus>(
  read: { object throws(JSONError) in try StorageStatus(object.required("status").object()) },
  write: { status, writer in writer.member("status", object: status) })

/// The description that kistd gives of itself.
package struct Hello: Sendable, Equatable {
  /// The version of the protocol, which changes only if clients must change.
  package var protocolVersion = 1
  /// The version of kistd.
  package var version: String
  /// The names of the served operations, sorted.
  package var operations = OperationRow.all.map(\.name).sorted()
  /// The names of the additions to version 1 of the protocol, such as new JSON keys.
  package var features = [Hello.keepFeature, Hello.maxStaleFeature, Hello.onBehalfOfFeature]
  /// How durable a change is once kistd has answered it.
  package var durability: StorageStatus.Durability

  /// The feature of a kistd that accepts the key `keep` in a request of `save`.
  static let keepFeature = "keep"
  /// The feature of a kistd that accepts the key `maxStale` in a request of `load`.
  static let maxStaleFeature = "maxStale"
  /// The feature of a kistd that accepts the key `onBehalfOf` in every request.
  package static let onBehalfOfFeature = "onBehalfOf"

  package init(version: String, durability: StorageStatus.Durability) {
    self.version = version
    self.durability = durability
  }
}

/// Asks kistd for its description.
package typealias HelloLookup = @Sendable () async throws(StorageError) -> Hello

extension Operation where Input == Void, Output == Hello {
  /// Describes kistd.
  static var hello: Self {
    Operation(name: "hello", keys: [], request: .nothing, reply: description)
  }
}

private let description = Codec<Hello>(
  read: { object throws(JSONError) in
    var hello = Hello(
      version: try object.required("version").string(),
      durability: StorageStatus.Durability(
        rawValue: try object.required("durability").string()))
    hello.protocolVersion = try object.required("protocol").integer()
    hello.operations = try object.required("operations").texts()
    hello.features = try object.required("features").texts()
    return hello
  },
  write: { hello, writer in
    writer.member("protocol", hello.protocolVersion)
    writer.member("version", hello.version)
    writer.member("operations", arrayOf: hello.operations) { $1.element($0) }
    writer.member("features", arrayOf: hello.features) { $1.element($0) }
    writer.memberLimits()
    writer.member("durability", hello.durability.rawValue)
  })

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

  /// Writes an element of `slots` in a reply.
  ///
  /// `passes` and `kibibytes` say how much computation and memory one try of a passphrase costs. A
  /// slot of a key file has neither.
  package func write(to writer: inout JSONWriter) {
    writer.member("number", number)
    writer.member("kind", kind.rawValue)
    writer.member("passes", passes)
    writer.member("kibibytes", kibibytes)
  }
}

extension Operation where Input == BackupRequest, Output == BackupProgress {
  /// Copies all credentials into a file with its own passphrase.
  ///
  /// The stored credentials stay the same. The file is temporary: the client reads it with
  /// `backupPart`, and kistd then removes it.
  static var backup: Self {
    Operation(
      name: "backup", effect: .backup, keys: ["passphrase", "weak", "backup"],
      request: backupRequest,
      reply: backupProgress)
  }
}

extension Operation where Input == BackupPart, Output == Secret {
  /// Reads a part of the file that `backup` makes.
  static var backupPart: Self {
    Operation(
      name: "backupPart", effect: .backup, keys: ["backup", "offset"], request: partRequest,
      reply: dataMember)
  }
}

private let backupRequest = Codec<BackupRequest>(
  read: { object throws(JSONError) in
    guard let id = object["backup"] else {
      return .begin(
        passphrase: try object.required("passphrase").secret(),
        allowsWeak: try object["weak"]?.bool() ?? false)
    }
    if object["passphrase"] != nil { throw id.error("cannot be combined with `passphrase`") }
    if object["weak"] != nil { throw id.error("cannot be combined with `weak`") }
    return .poll(id: try id.string())
  },
  write: { request, writer throws(StorageError) in
    switch request {
    case .begin(let passphrase, let allowsWeak):
      try writer.member("passphrase", passphrase: passphrase)
      if allowsWeak { writer.member("weak", true) }
    case .poll(let id): writer.member("backup", id)
    }
  })

private let dataMember = Codec<Secret>(
  read: { object throws(JSONError) in try object.required("data").base64() },
  write: { data, writer in writer.member("data", base64: data) })

private let partRequest = Codec<BackupPart>(
  read: { object throws(JSONError) in
    BackupPart(
      of: try object.required("backup").string(), from: try object.required("offset").integer())
  },
  write: { part, writer in
    writer.member("backup", part.id)
    writer.member("offset", part.offset)
  })

private let backupProgress = Codec<BackupProgress>(
  read: { object throws(JSONError) in
    let id = try object.required("backup").string()
    let count = try object.required("count").integer()
    guard let copied = object["copied"] else {
      return .made(Backup(id: id, size: try object.required("size").integer(), count: count))
    }
    return .copied(try copied.integer(), of: count, id: id)
  },
  write: { progress, writer in
    switch progress {
    case .copied(let done, let all, let id):
      writer.member("backup", id)
      writer.member("copied", done)
      writer.member("count", all)
    case .made(let backup):
      writer.member("backup", backup.id)
      writer.member("size", backup.size)
      writer.member("count", backup.count)
    }
  })
