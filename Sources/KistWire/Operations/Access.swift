internal import KistCore
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
