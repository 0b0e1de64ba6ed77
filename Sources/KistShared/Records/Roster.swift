package import KistCluster
package import KistCore
package import KistSodium
internal import KistVault

/// The machines of a vault, and what an admin decided about them.
///
/// A value of this type is not verified: `VerifiedRoster` is.
package struct Roster: Hashable, Sendable {
  /// The id of the vault.
  package var vault: RecordID
  /// The number of the roster; the first one has 1.
  package var number: UInt64
  /// The hash of the roster before; zeros for the first one.
  package var before: Digest
  /// When the admin signed it.
  package var time: Timestamp
  /// The number of the generation.
  package var generation: UInt32
  /// The store id of the generation: 16 bytes.
  package var storeID: [UInt8]
  /// The hash of the master key (`GenerationKeys.check`).
  package var keyCheck: Digest
  /// The public keys that may sign the next roster: 1 to 16, all different.
  package var admins: [[UInt8]]
  /// The members, in ascending order of their ids.
  package private(set) var members: [Member]

  /// Makes the roster of a generation.
  package init(
    _ keys: GenerationKeys, number: UInt64, before: Digest, time: Timestamp, admins: [[UInt8]],
    members: [Member]
  ) {
    vault = keys.vault
    (self.number, self.before, self.time) = (number, before, time)
    (generation, storeID, keyCheck) = (keys.generation, keys.store.storeID, keys.check)
    self.admins = admins
    self.members = members.sorted { $0.keys.id < $1.keys.id }
  }

  /// Returns the member with this id; `nil` if there is none.
  package func member(_ id: RecordID) -> Member? {
    var places = members.indices
    while !places.isEmpty {
      let middle = places.lowerBound + places.count / 2
      // The member is not copied, because it has many parts.
      let found = members[middle].keys.id
      if found == id { return members[middle] }
      places = found < id ? middle + 1..<places.upperBound : places.lowerBound..<middle
    }
    return nil
  }

  /// What the signature of an admin is for.
  package enum Purpose: Sendable {
    /// To decide who the members are.
    case roster
    /// To give the members the next key of the vault before it is in use. It decides nothing.
    case announcement

    fileprivate var text: [UInt8] {
      switch self {
      case .roster: Array("kist shared roster".utf8)
      case .announcement: Array("kist shared announcement".utf8)
      }
    }
  }

  /// The size of the index of the admin and of the signature, after the members.
  private static let endSize = 4 + SigningKey.signatureSize

  /// Encodes and signs the roster.
  ///
  /// - Parameter index: the index of the admin's key in the roster before; for the first roster, in
  ///   this one.
  package func encoded(
    signedBy admin: SigningKey, index: UInt32, for purpose: Purpose = .roster
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256 + members.count * Member.size)
    bytes.append(littleEndian: SharedFormat.version)
    bytes += vault.bytes
    bytes.append(littleEndian: number)
    bytes += before.bytes
    bytes.append(littleEndian: time.secondsSinceEpoch)
    bytes.append(littleEndian: generation)
    bytes += storeID + keyCheck.bytes
    bytes.append(littleEndian: UInt32(admins.count))
    for key in admins { bytes += key }
    bytes.append(littleEndian: UInt32(members.count))
    for member in members { member.append(to: &bytes) }
    bytes.append(littleEndian: index)
    return bytes + admin.sign((purpose.text + bytes).span)
  }

  /// Decodes a roster, and returns the index of the admin; does not verify the signature.
  fileprivate static func decoded(_ bytes: [UInt8]) throws(StorageError) -> (Roster, admin: Int) {
    try decoding("roster") { () throws(StorageError) in
      var reader = ByteReader()
      let roster = try Roster(&reader, from: bytes.span)
      let admin = try reader.integer(UInt32.self, from: bytes.span)
      guard bytes.count - reader.offset == SigningKey.signatureSize else { throw .malformedRoster }
      return (roster, Int(admin))
    }
  }

  private init(_ reader: inout ByteReader, from bytes: Span<UInt8>) throws(StorageError) {
    try reader.version(of: "roster", from: bytes)
    vault = try reader.id(from: bytes)
    number = try reader.integer(from: bytes)
    before = try reader.digest(from: bytes)
    time = try reader.timestamp(from: bytes)
    generation = try reader.integer(from: bytes)
    storeID = try reader.bytes(StoreFormat.storeIDSize, from: bytes)
    keyCheck = try reader.digest(from: bytes)
    let adminCount = try reader.integer(UInt32.self, from: bytes)
    guard (1...UInt32(SharedFormat.mostAdmins)).contains(adminCount) else { throw .malformedRoster }
    admins = []
    for _ in 0..<adminCount { admins.append(try reader.bytes(SigningKey.publicSize, from: bytes)) }
    let count = try reader.integer(UInt32.self, from: bytes)
    guard count <= SharedFormat.mostMembers,
      bytes.count - reader.offset == Int(count) * Member.size + Self.endSize
    else { throw .malformedRoster }
    members = []
    members.reserveCapacity(Int(count))
    for _ in 0..<count {
      let member = try Member(&reader, from: bytes)
      // So no id occurs twice.
      if let last = members.last, last.keys.id >= member.keys.id { throw .malformedRoster }
      members.append(member)
    }
    guard Set(admins).count == admins.count, number >= 1, generation >= 1,
      (number == 1) == (before == .none)
    else { throw .malformedRoster }
  }

  fileprivate static func isSigned(
    _ bytes: [UInt8], by admin: [UInt8], for purpose: Purpose
  ) -> Bool {
    let message = purpose.text + bytes.dropLast(SigningKey.signatureSize)
    return isSignature(
      Array(bytes.suffix(SigningKey.signatureSize)), of: message.span, by: admin)
  }
}

/// A roster whose signature was verified.
package struct VerifiedRoster: Hashable, Sendable {
  /// The content.
  package let roster: Roster
  /// The hash of the record, which heads name.
  package let digest: Digest

  /// Verifies a roster by the key of an admin that the user was given with the vault's id.
  ///
  /// This is the way of a new machine. Throws `corrupt` if the roster is of another vault, has a
  /// lower number than `number`, or was not signed with this key.
  package init(
    verifying bytes: [UInt8], of vault: RecordID, signedBy admin: [UInt8],
    notBefore number: UInt64 = 1
  ) throws(StorageError) {
    (roster, _) = try Roster.decoded(bytes)
    guard roster.vault == vault, Roster.isSigned(bytes, by: admin, for: .roster) else {
      throw .forgedRoster
    }
    guard roster.number >= number else { throw .oldRoster }
    digest = Digest(of: bytes)
  }

  /// Decodes a roster that this machine verified before, and signed in its own note.
  init(noted bytes: [UInt8]) throws(StorageError) {
    (roster, _) = try Roster.decoded(bytes)
    digest = Digest(of: bytes)
  }

  /// Verifies a roster by the one directly before it.
  ///
  /// Throws `corrupt` unless the number is the next one, the hash of the roster before is right, an
  /// admin of the roster before signed it, and the generation is the same or a new one.
  package init(verifying bytes: [UInt8], after known: VerifiedRoster) throws(StorageError) {
    try self.init(verifying: bytes, after: known, for: .roster)
  }

  /// Verifies an announcement of the roster after this one, and returns its content.
  ///
  /// Throws as for a roster.
  package func announced(_ bytes: [UInt8]) throws(StorageError) -> Roster {
    try VerifiedRoster(verifying: bytes, after: self, for: .announcement).roster
  }

  private init(
    verifying bytes: [UInt8], after known: VerifiedRoster, for purpose: Roster.Purpose
  ) throws(StorageError) {
    let admin: Int
    (roster, admin) = try Roster.decoded(bytes)
    let before = known.roster
    guard roster.vault == before.vault, before.admins.indices.contains(admin),
      Roster.isSigned(bytes, by: before.admins[admin], for: purpose)
    else { throw .forgedRoster }
    guard roster.number > before.number else { throw .oldRoster }
    guard roster.number == before.number + 1 else {
      throw .untrusted("a roster between two others is missing")
    }
    guard roster.before == known.digest else {
      throw .rolledBack("the roster follows another one than this machine has seen")
    }
    let hasSameKey = roster.keyCheck == before.keyCheck && roster.storeID == before.storeID
    switch roster.generation {
    case before.generation where hasSameKey: break
    // Another id for the new key, so that nothing that is sealed opens in both generations.
    case let next
    where next > before.generation && roster.keyCheck != before.keyCheck
      && roster.storeID != before.storeID:
      break
    default: throw .untrusted("the roster has a generation that does not follow the one before")
    }
    digest = Digest(of: bytes)
  }
}

extension StorageError {
  fileprivate static let malformedRoster = untrusted("the roster does not follow the format")
  fileprivate static let forgedRoster = untrusted(
    "the roster is not signed by an admin of this vault")
  fileprivate static let oldRoster = rolledBack(
    "the cluster has an older roster than this machine has seen")
}
