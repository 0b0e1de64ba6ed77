internal import KistCore
internal import KistSodium
internal import KistVault
private import Synchronization

/// An unlocked store: its keys, which are released with it, and its integrity check.
///
/// The master key is needed only for opening, and is not kept.
final class Session: Sendable {
  let keys: StoreKeys
  let check: IntegrityCheck
  let progress: Progress?
  let epoch: Epoch
  /// The latest sealed header, decrypted and sealed.
  private let written = Mutex<(header: Header, sealed: [UInt8])?>(nil)

  /// Uses the master key to verify that the header and the slots are authentic.
  ///
  /// Throws `corrupt` also where the store is older than its progress note.
  init(
    master: GuardedKey, storeID: [UInt8], _ options: EncryptedFile.Options,
    reading connections: Connections
  ) throws(StorageError) {
    let keys = try StoreKeys(master: master, storeID: storeID)
    func readHeader() throws(StorageError) -> Header {
      try connections.read { database throws(StorageError) in
        let header = try database.header(keys)
        _ = try database.slots(of: header, storeID: storeID)
        return header
      }
    }
    func openProgress(_ header: Header) throws(StorageError) -> Progress? {
      guard let progress = options.progress else { return nil }
      return try Progress(progress, of: options, keys, header)
    }
    let header = try readHeader()
    do throws(StorageError) { progress = try openProgress(header) } catch {
      // Another session may have noted a newer change after the header was read.
      let newer = try readHeader()
      guard newer.sequence > header.sequence else { throw error }
      progress = try openProgress(newer)
    }
    epoch = header.epoch
    self.keys = keys
    check = IntegrityCheck(of: options.path, keys: keys)
  }

  /// Returns the header in the database.
  ///
  /// It is not opened again if its bytes are those that this session wrote last.
  func header(in database: Database) throws(StorageError) -> Header {
    let sealed = try database.sealedHeader(of: keys.storeID)
    if let written = written.withLock(\.self), written.sealed.span.hasSameBytes(as: sealed.span) {
      return written.header
    }
    return try keys.openHeader(sealed)
  }

  /// Returns the header that is on disk.
  func header(in connections: Connections) throws(StorageError) -> Header {
    try connections.read { database throws(StorageError) in try database.header(keys) }
  }

  /// Replaces the header in the database.
  func write(_ header: Header, nonce: [UInt8], into database: Database) throws(StorageError) {
    let sealed = keys.seal(header, nonce: nonce)
    written.withLock { $0 = (header, sealed) }
    try database.replaceHeader(sealed)
  }
}
