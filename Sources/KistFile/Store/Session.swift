internal import KistCore
internal import KistSodium
private import Synchronization

/// An unlocked store: its keys, which go with it, and what is known of its integrity.
///
/// The master key is needed for opening only, and is not kept.
final class Session: Sendable {
  let keys: StoreKeys
  let check: IntegrityCheck
  private let epoch: String
  /// The header that was sealed last, and what it was sealed into.
  private let written = Mutex<(header: Header, sealed: [UInt8])?>(nil)

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

  /// The header that is in the database; the same bytes as were written are the same header, and
  /// need not be opened again.
  func header(in database: Database) throws(StorageError) -> Header {
    let sealed = try database.sealedHeader(of: keys.storeID)
    if let written = written.withLock(\.self), written.sealed == sealed { return written.header }
    return try keys.openHeader(sealed)
  }

  /// Puts a header in the place of the one that is in the database.
  func write(_ header: Header, nonce: [UInt8], into database: Database) throws(StorageError) {
    let sealed = keys.seal(header, nonce: nonce)
    written.withLock { $0 = (header, sealed) }
    try database.replaceHeader(sealed)
  }

  /// The mark of a change of this store.
  func revision(of sequence: UInt64) -> Revision {
    Revision(epoch: epoch, sequence: sequence)
  }
}
