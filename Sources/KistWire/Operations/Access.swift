package import KistCore
internal import KistJSON

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

/// Refuses a passphrase that is too long before a storage spends time and memory on it.
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
  /// The additions to the protocol since 1.0: keys, values, operations.
  package var features: [String] = []
  /// The failures that an answered change survives.
  package var durability: StorageStatus.Durability

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
