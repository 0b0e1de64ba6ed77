package import KistCluster
package import KistCore
package import KistSodium
package import KistVault

// The terms of this module, besides those of KistVault (StoreKeys.swift):
//
// - *Vault*: the credentials that several machines share.
// - *Machine*: a member of the vault. It signs with a key of its own.
// - *Admin*: the owner of a key that decides who is a member. The key is on no ordinary machine.
// - *Roster*: the list of the members, signed by an admin.
// - *Generation*: a master key of the vault. Removing a member begins a new generation.
// - *Head*: the description of the vault after its last change, signed by the machine that made it.
//   The heads are a chain: each one contains the hash of the one before.
// - *Key tag*: the tag of the service and the account of a credential, which is the name of its row.

/// The fixed values of the records, which docs/shared-format.md specifies.
package enum SharedFormat {
  /// The version in the first four bytes of every record.
  static let version: UInt32 = 1
  /// The size of a sealed message in bytes, minus the size of the message.
  static let overhead = SymmetricKey.nonceSize + SymmetricKey.tagSize
  /// The maximum number of members, so that the roster fits into a commit with other records.
  package static let mostMembers = 3000
  /// The maximum number of admin keys.
  package static let mostAdmins = 16
  /// The maximum size of a member's name in bytes.
  package static let longestName = 60
}

/// A hash of 32 bytes (BLAKE2b) without a key.
package struct Digest: Hashable, Sendable {
  /// The size in bytes.
  package static let size = 32
  /// The hash.
  package let bytes: [UInt8]

  /// Makes the hash of some bytes.
  package init(of bytes: [UInt8]) { self.bytes = blake2b(bytes.span, count: Self.size) }

  /// Copies a hash of 32 bytes.
  package init(copying bytes: [UInt8]) {
    precondition(bytes.count == Self.size, "a hash has 32 bytes")
    self.bytes = bytes
  }

  /// The value for something that does not exist: zeros.
  package static let none = Digest(copying: [UInt8](repeating: 0, count: size))
}

/// The keys of one generation of a vault.
///
/// Rows are sealed with the keys of an encrypted file, so a row can be copied into one unchanged.
package final class GenerationKeys: Sendable {
  /// The id of the vault: 16 random bytes, not secret.
  package let vault: RecordID
  /// The number of the generation, from 1.
  package let generation: UInt32
  /// The keys of the rows, and of the heads.
  package let store: StoreKeys
  let placeKey: SymmetricKey
  let memberNameKey: SymmetricKey
  let beaconKey: SymmetricKey
  /// The key that derives the nonces for rows of the generation before, which are sealed again.
  private let nonceKey: SymmetricKey
  /// The hash of the master key, which the roster contains.
  ///
  /// It shows a member that all members were given the same key.
  package let check: Digest

  /// Derives the keys of a generation from its master key.
  ///
  /// - Parameter storeID: 16 random bytes, chosen with the master key.
  package init(
    master: GuardedKey, vault: RecordID, generation: UInt32, storeID: [UInt8]
  ) throws(StorageError) {
    (self.vault, self.generation) = (vault, generation)
    store = try StoreKeys(master: master, storeID: storeID)
    placeKey = try SymmetricKey(derivedFrom: master, id: 9, context: "kiststor")
    memberNameKey = try SymmetricKey(derivedFrom: master, id: 10, context: "kiststor")
    beaconKey = try SymmetricKey(derivedFrom: master, id: 11, context: "kiststor")
    nonceKey = try SymmetricKey(derivedFrom: master, id: 12, context: "kiststor")
    let message =
      Array("kist shared key".utf8) + generationBytes(vault, generation) + storeID
    check = Digest(copying: master.hash(message.span, count: Digest.size))
  }

  /// Returns the nonces with which a row of the generation before is sealed again.
  ///
  /// Different rows get different nonces.
  func nonces(for row: SealedRow) -> Nonces {
    Nonces(nonceKey.hash((row.metadata + row.secret).span, count: 2 * SymmetricKey.nonceSize))
  }

  /// Returns the associated data of sealed data of this kind, bound to further bytes.
  func associatedData(of part: StoreFormat.Part, _ bound: [UInt8] = []) -> [UInt8] {
    StoreFormat.associatedData(of: part, storeID: store.storeID) + bound
  }
}

/// Returns the id of the vault and the number of the generation as bytes, to hash or to sign.
func generationBytes(_ vault: RecordID, _ generation: UInt32) -> [UInt8] {
  var bytes = vault.bytes
  bytes.append(littleEndian: generation)
  return bytes
}

extension ByteReader {
  /// Reads the version of a record; throws unless it is the one that this module knows.
  mutating func version(of record: String, from bytes: Span<UInt8>) throws(StorageError) {
    let version = try integer(UInt32.self, from: bytes)
    guard version <= SharedFormat.version else { throw .newerRecord(record, version) }
    guard version == SharedFormat.version else {
      throw .untrusted("the \(record) has an invalid version")
    }
  }

  mutating func id(from bytes: Span<UInt8>) throws(StorageError) -> RecordID {
    // An id has as many bytes as are read.
    RecordID(try self.bytes(RecordID.size, from: bytes))!
  }

  mutating func digest(from bytes: Span<UInt8>) throws(StorageError) -> Digest {
    Digest(copying: try self.bytes(Digest.size, from: bytes))
  }

  mutating func timestamp(from bytes: Span<UInt8>) throws(StorageError) -> Timestamp {
    guard let time = Timestamp(secondsSinceEpoch: try integer(from: bytes)) else {
      throw .untrusted("a record of the vault has an invalid time")
    }
    return time
  }
}
