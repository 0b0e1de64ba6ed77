internal import KistCore
internal import KistSodium

/// The keys of an unlocked store, one per purpose, all derived from its master key.
struct StoreKeys: Sendable {
  /// The id of the store: 16 random bytes, not secret.
  let storeID: [UInt8]
  let tags: SymmetricKey
  let metadata: RowSeal
  let secrets: RowSeal
  let header: SymmetricKey
  let sum: SymmetricKey
  let names: SymmetricKey
  /// The key that chains the lines of a log beside the store.
  let audit: SymmetricKey
  let progress: SymmetricKey
  /// Whether the system keeps all keys in RAM and out of swap.
  let areInRAM: Bool

  private static let context = KeyContext("kiststor")

  init(master: GuardedKey, storeID: [UInt8]) throws(StorageError) {
    var areInRAM = true
    func derive(_ id: UInt64) throws(StorageError) -> SymmetricKey {
      let key = try SymmetricKey(derivedFrom: master, id: id, context: Self.context)
      areInRAM = areInRAM && key.isInRAM
      return key
    }
    self.storeID = storeID
    tags = try derive(1)
    metadata = RowSeal(.metadata, key: try derive(2), storeID: storeID)
    secrets = RowSeal(.secret, key: try derive(3), storeID: storeID)
    header = try derive(4)
    sum = try derive(5)
    names = try derive(6)
    audit = try derive(7)
    progress = try derive(8)
    self.areInRAM = areInRAM
  }
}
