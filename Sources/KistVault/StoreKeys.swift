package import KistCore
package import KistSodium

// The terms of this module:
//
// - *Seal*: encrypt and authenticate. *Open*: verify and decrypt.
// - *Row*: one stored credential. It has two sealed parts, the metadata and the secret.
// - *Key*: the service and the account of a credential. The word has this meaning in the names of
//   functions about rows.
// - *Tag*: a keyed hash of names, by which the store finds rows.
// - *Address*: the number of a row in the table.
// - *Sequence*: the number of a change. Each change of the store has the next number.
// - *Identity* of a row: its tags, and the sequence of the change that wrote it.
// - *Header*: data about the whole store, such as the number of rows and the sum of their hashes.
//   With it, kist detects missing and replaced rows.
// - *Associated data*: not encrypted, but authenticated with sealed data. If it differs, the sealed
//   data does not open. So sealed data opens only in its own store and as its own kind of data, and
//   a row only with its own identity.
// - *Fields*: data of a credential that a later version of kist added. Each field begins with a
//   *field tag*, which is the number of its kind, and not a hash.

/// The fixed values of the file format, which docs/file-format.md specifies.
package enum StoreFormat {
  /// The value of SQLite's `user_version`.
  package static let version: UInt32 = 1
  /// The value of SQLite's `application_id`: the bytes of `kist`.
  package static let applicationID: UInt32 = 0x6B69_7374
  /// The size of a store's id in bytes.
  package static let storeIDSize = 16
  /// The maximum size in bytes of a row, and of each value (column) in the database.
  ///
  /// The largest row that kist writes has about 612 KiB.
  package static let longestRow = 640 << 10

  /// The kind of sealed or hashed data.
  ///
  /// It is part of the associated data or of the hashed bytes, so that one kind cannot replace
  /// another.
  package enum Part: UInt32 {
    case slot = 1
    case header = 2
    case metadata = 3
    case secret = 4
    /// The names of a request, in the audit log.
    case names = 5
    /// The hash chain of the audit log, which links each block of lines to the block before it.
    case chain = 6
    /// The number of the last change, in a file outside of the store. If the store has a lower
    /// number, an older copy replaced it.
    case progress = 7
    /// The service tag of a row of a shared vault.
    case sharedPlace = 8
    /// The head of a shared vault.
    case sharedHead = 9
    /// The name of a machine of a shared vault.
    case memberName = 10
    /// What a machine of a shared vault has seen.
    case beacon = 11
  }

  /// Returns the beginning of the associated data of sealed data of this kind.
  package static func associatedData(of part: Part, storeID: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(80)
    bytes += "kist".utf8
    bytes.append(littleEndian: version)
    bytes.append(littleEndian: part.rawValue)
    bytes += storeID
    return bytes
  }
}

/// The keys of an unlocked store.
///
/// There is one key for each purpose, derived from the master key.
package final class StoreKeys: Sendable {
  /// The id of the store: 16 random bytes, not secret.
  package let storeID: [UInt8]
  let tagKey: SymmetricKey
  let metadataSeal: RowSeal
  let secretSeal: RowSeal
  /// The key of the header, and of the heads of a shared vault.
  package let headerKey: SymmetricKey
  /// The associated data of the header.
  let headerData: [UInt8]
  let sumKey: SymmetricKey
  let nameKey: SymmetricKey
  /// The key of the hash chain of the audit log.
  let auditKey: SymmetricKey
  let progressKey: SymmetricKey
  /// Whether all keys are locked in RAM, so that the system does not write them to swap.
  package let areInRAM: Bool

  /// Derives the keys of the store with this id.
  package init(master: GuardedKey, storeID: [UInt8]) throws(StorageError) {
    var areInRAM = true
    func derive(_ id: UInt64) throws(StorageError) -> SymmetricKey {
      let key = try SymmetricKey(derivedFrom: master, id: id, context: "kiststor")
      areInRAM = areInRAM && key.isInRAM
      return key
    }
    self.storeID = storeID
    tagKey = try derive(1)
    metadataSeal = RowSeal(.metadata, key: try derive(2), storeID: storeID)
    secretSeal = RowSeal(.secret, key: try derive(3), storeID: storeID)
    headerKey = try derive(4)
    headerData = StoreFormat.associatedData(of: .header, storeID: storeID)
    sumKey = try derive(5)
    nameKey = try derive(6)
    auditKey = try derive(7)
    progressKey = try derive(8)
    // KistShared derives the keys 9 to 12, which only a shared vault needs.
    self.areInRAM = areInRAM
  }
}
