internal import KistCore
internal import KistSodium

/// An unlocked store: its keys, which go with it, and what is known of its integrity.
///
/// The master key is needed for opening only, and is not kept.
final class Session: Sendable {
  let keys: StoreKeys
  let check: IntegrityCheck
  private let epoch: String

  /// Takes the master key and proves with it that the header and the slots are authentic.
  init(master: GuardedKey, storeID: [UInt8], path: String, reading connections: Connections)
    throws(StorageError)
  {
    let keys = try StoreKeys(master: master, storeID: storeID)
    let epoch = try connections.read { database throws(StorageError) in
      let header = try database.header(keys)
      guard header.slots == KeySlot.hash(of: try database.slots(storeID: storeID), storeID: storeID)
      else { throw .corrupt("the store's key slots were changed") }
      return header.epoch
    }
    self.epoch = String(epoch, radix: 36)
    self.keys = keys
    check = IntegrityCheck(of: path, keys: keys)
  }

  /// The mark of a change of this store.
  func revision(of sequence: UInt64) -> Revision {
    Revision(epoch: epoch, sequence: sequence)
  }
}
