internal import KistCore
internal import KistSodium

/// The keys of an unlocked store, one for each purpose, all derived from its master key.
struct StoreKeys: Sendable {
  /// What tells this store from every other: 16 random bytes, not secret.
  let storeID: [UInt8]
  let tags: SymmetricKey
  let metadata: RowSeal
  let secrets: RowSeal
  let header: SymmetricKey
  let sum: SymmetricKey
  let names: SymmetricKey

  private static let context = KeyContext("kiststor")

  init(master: GuardedKey, storeID: [UInt8]) throws(StorageError) {
    func derive(_ id: UInt64) throws(StorageError) -> SymmetricKey {
      try SymmetricKey(derivedFrom: master, id: id, context: Self.context)
    }
    self.storeID = storeID
    tags = try derive(1)
    metadata = RowSeal(.metadata, key: try derive(2), storeID: storeID)
    secrets = RowSeal(.secret, key: try derive(3), storeID: storeID)
    header = try derive(4)
    sum = try derive(5)
    names = try derive(6)
  }
}
