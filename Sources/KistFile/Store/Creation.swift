internal import Glibc
internal import KistCore
internal import KistSodium

/// Makes a new store where there is none, with what `fill` puts into it and into its header.
///
/// First the key is on disk, then the whole store under another name, then its own name. So what a
/// crash leaves is at most a key without a store, which the next start uses.
func createStore(
  _ options: EncryptedFile.Options, id storeID: [UInt8] = randomBytes(StoreFormat.storeIDSize),
  filledBy fill: (Database, StoreKeys, inout Header) throws(StorageError) -> Void = { _, _, _ in }
) throws(StorageError) {
  for suffix in ["-wal", "-journal"] {
    if try exists(options.path + suffix) {
      throw .corrupt("the store \(options.path) is missing, but its log is there")
    }
  }
  let master = try GuardedKey.random()
  let slot = try newSlot(options, wrapping: master, storeID: storeID)
  let keys = try StoreKeys(master: master, storeID: storeID)
  var header = Header(
    sequence: 0, count: 0, epoch: .random(in: .min ... .max), sum: .zero,
    slots: KeySlot.hash(of: [slot], storeID: storeID))
  let unfinished = options.path + ".new"
  for suffix in ["", "-wal", "-shm", "-journal"] { unsafe unlink(unfinished + suffix) }
  // Made here, not by SQLite, so that its mode does not hang on the umask; its log takes it over.
  try Descriptor.open(unfinished, O_RDWR | O_CREAT | O_EXCL).setMode(0o600, path: unfinished)
  let connection = Connection(path: unfinished, readonly: false, cacheKibibytes: 256)
  defer { connection.close() }
  try connection.open()
  try connection.use { database throws(StorageError) in
    try database.transaction("BEGIN IMMEDIATE") { () throws(StorageError) in
      try Schema.create(in: database)
      try fill(database, keys, &header)
      try database.insertStore(
        id: storeID, header: keys.seal(header, nonce: options.nonces(1)),
        slot: slot.number, slot.encoded(storeID: storeID))
      return true
    }
    // What closing could not bring from the log into the file would be left behind by its new name.
    guard try database.checkpoint() else {
      throw StorageError(
        .unavailable, "the new store could not be written to its end", hint: "try again")
    }
  }
  connection.close()
  try rename(unfinished, to: options.path)
}

private func newSlot(
  _ options: EncryptedFile.Options, wrapping master: GuardedKey, storeID: [UInt8]
) throws(StorageError) -> KeySlot {
  switch options.keySource {
  case .none: throw .noKey(for: options.path)
  case .keyFile(let path):
    let existing = try KeyFile.read(path)
    let file = if let existing { existing } else { try KeyFile.create(path) }
    let key = try wrappingKey(from: file)
    return KeySlot(
      number: 1, kind: .keyFile, wrapping: master, under: key, storeID: storeID,
      nonce: options.nonces(1))
  case .passphraseFile(let path):
    guard let passphrase = try PassphraseFile.read(path) else { throw .noKey(for: options.path) }
    var options = options
    options.keySource = .passphrase(passphrase)
    return try newSlot(options, wrapping: master, storeID: storeID)
  case .passphrase(let passphrase):
    return try KeySlot(
      number: 1, passphrase: passphrase, wrapping: master, storeID: storeID, options)
  }
}

extension StorageError {
  fileprivate static func noKey(for store: String) -> StorageError {
    StorageError(
      .unavailable, "there is no store at \(store), and no key to make one with",
      hint: "start kistd with a key file or a passphrase")
  }
}
