internal import KistCluster
package import KistCore
package import KistSodium
internal import KistVault

/// A machine of a vault, as the roster lists it.
package struct Member: Hashable, Sendable {
  /// What a member may do.
  package enum Role: UInt32, Sendable {
    /// Reads credentials.
    case reader = 1
    /// Reads and changes credentials.
    case writer = 2
  }

  /// The public keys of the machine.
  package let keys: MachineKeys
  /// The role.
  package let role: Role
  /// The master key, sealed for the machine.
  let wrappedKey: [UInt8]
  /// The name of the machine, which only members can read.
  let sealedName: [UInt8]
  /// When the machine was added.
  package let added: Timestamp
  /// The last moment at which a head of this machine is accepted; `nil` for no limit.
  package let until: Timestamp?

  /// The size of a member in the roster in bytes.
  static let size = 320
  /// The size of the message of a wrapped key: vault, generation, store id, master key.
  private static let wrappedMessageSize = 16 + 4 + 16 + GuardedKey.size
  private static let wrappedSize = wrappedMessageSize + BoxKey.overhead
  private static let sealedNameSize = 64 + SharedFormat.overhead

  /// Makes a member from parts that were sealed before.
  init(
    keys: MachineKeys, role: Role, wrappedKey: [UInt8], sealedName: [UInt8], added: Timestamp,
    until: Timestamp?
  ) {
    (self.keys, self.role) = (keys, role)
    (self.wrappedKey, self.sealedName) = (wrappedKey, sealedName)
    (self.added, self.until) = (added, until)
  }

  /// Makes a member of a generation, and seals its name and the master key for it.
  ///
  /// Throws `badRequest` if the name is empty, too long or has a control character, or if the box
  /// key is not a valid key.
  package init(
    _ keys: MachineKeys, _ role: Role, name: String, added: Timestamp, until: Timestamp? = nil,
    wrapping master: GuardedKey, of generation: GenerationKeys, nonce: [UInt8]
  ) throws(StorageError) {
    guard name.utf8.count <= SharedFormat.longestName, CredentialKey(service: name).isWithinLimits
    else {
      throw .refused(
        "the name of a machine must have 1 to \(SharedFormat.longestName) bytes, without control "
          + "characters")
    }
    guard let wrapped = generation.wrap(master, for: keys) else {
      throw .refused("the public key of the machine is not valid", hint: "copy it again")
    }
    self.init(
      keys: keys, role: role, wrappedKey: wrapped,
      sealedName: generation.seal(name, of: keys.id, nonce: nonce), added: added, until: until)
  }

  /// Whether a head of this machine is accepted at a time.
  package func isWriter(at time: Timestamp) -> Bool {
    role == .writer && until.map { time <= $0 } ?? true
  }
}

extension Member {
  func append(to bytes: inout [UInt8]) {
    bytes += keys.id.bytes
    bytes.append(littleEndian: role.rawValue)
    bytes += keys.signing + keys.box + wrappedKey + sealedName
    bytes.append(littleEndian: added.secondsSinceEpoch)
    bytes.append(littleEndian: until?.secondsSinceEpoch ?? 0)
  }

  init(_ reader: inout ByteReader, from bytes: Span<UInt8>) throws(StorageError) {
    let id = try reader.id(from: bytes)
    let role = Role(rawValue: try reader.integer(from: bytes))
    keys = MachineKeys(
      signing: try reader.bytes(SigningKey.publicSize, from: bytes),
      box: try reader.bytes(BoxKey.publicSize, from: bytes))
    guard let role, keys.id == id else {
      throw .untrusted("the roster has a machine with an unknown role or a wrong id")
    }
    self.role = role
    wrappedKey = try reader.bytes(Self.wrappedSize, from: bytes)
    sealedName = try reader.bytes(Self.sealedNameSize, from: bytes)
    added = try reader.timestamp(from: bytes)
    let until = try reader.timestamp(from: bytes)
    self.until = until.secondsSinceEpoch == 0 ? nil : until
  }
}

extension GenerationKeys {
  /// Returns the master key, sealed for a machine; `nil` if its box key is not valid.
  fileprivate func wrap(_ master: GuardedKey, for keys: MachineKeys) -> [UInt8]? {
    var message = WipedBytes(capacity: 68)
    message.append((generationBytes(vault, generation) + store.storeID).span)
    master.withBytes { message.append($0) }
    return message.withBytes { sealedBox($0, for: keys.box) }
  }

  fileprivate func seal(_ name: String, of machine: RecordID, nonce: [UInt8]) -> [UInt8] {
    var message = WipedBytes(capacity: 64)
    message.append(utf8: name)
    message.pad()
    let associatedData = associatedData(of: .memberName, machine.bytes)
    return message.withBytes { memberNameKey.seal($0, for: associatedData.span, nonce: nonce) }
  }

  /// Opens the name of a member; throws `corrupt` if it was not sealed for this member.
  package func name(of member: Member) throws(StorageError) -> String {
    let associatedData = associatedData(of: .memberName, member.keys.id.bytes)
    guard var message = memberNameKey.open(member.sealedName.span, for: associatedData.span) else {
      throw .untrusted("the name of a machine fails authentication")
    }
    try decoding("name of a machine") { () throws(StorageError) in try message.unpad() }
    guard let name = message.withBytes({ String(validating: $0) }),
      CredentialKey(service: name).isWithinLimits
    else { throw .untrusted("the name of a machine is not valid") }
    return name
  }
}

extension Roster {
  /// Returns the keys of the generation, from the master key that is sealed for a machine.
  ///
  /// Throws `denied` if the machine is not a member, and `corrupt` if the sealed key is not the key
  /// that all members were given.
  package func openKeys(with identity: MachineIdentity) throws(StorageError) -> GenerationKeys {
    try openMaster(with: identity).keys
  }

  /// Returns the keys as `openKeys` does, and the master key, for a new copy of the vault.
  package func openMaster(
    with identity: MachineIdentity
  ) throws(StorageError) -> (master: GuardedKey, keys: GenerationKeys) {
    guard let member = member(identity.id) else { throw .notMember }
    let start = generationBytes(vault, generation) + storeID
    guard let message = identity.boxKey.open(member.wrappedKey.span) else { throw .wrongWrappedKey }
    let master = try message.withBytes { message throws(StorageError) -> GuardedKey? in
      guard message.extracting(..<start.count).hasSameBytes(as: start.span) else { return nil }
      return try GuardedKey(copying: message.extracting(start.count...))
    }
    guard let master else { throw .wrongWrappedKey }
    let keys = try GenerationKeys(
      master: master, vault: vault, generation: generation, storeID: storeID)
    guard keys.check == keyCheck else { throw .wrongWrappedKey }
    return (master, keys)
  }
}

extension StorageError {
  fileprivate static let wrongWrappedKey = untrusted(
    "the key that the roster has for this machine is not the key of the vault")
}
