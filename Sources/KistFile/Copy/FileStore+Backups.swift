internal import KistCore
internal import KistSodium

extension FileStore {
  /// Copies the store, as it is at one moment, into one that the passphrase alone opens.
  func makeBackup(_ passphrase: Secret) async throws(StorageError) -> Backup {
    let session = try session()
    try checkPassphrase(passphrase)
    try await session.check.settle(within: options.deadline)
    let unfinished = UnfinishedStore.backup(beside: options.path)
    return try await backups.make(unfinished) { [self] () throws(StorageError) in
      var count = 0
      try unfinished.write(
        options, id: randomBytes(StoreFormat.storeIDSize), openedBy: [.passphrase(passphrase)]
      ) { database, keys, header throws(StorageError) in
        var copies = Copies(database: database, keys: keys, nonces: { self.options.nonces(1) })
        try connections.snapshot { original throws(StorageError) in
          try original.eachCredential(session.keys) { row throws(StorageError) in
            // Who locks or closes the store does not wait for this.
            _ = try self.session()
            try copies.put(row)
          }
        }
        count = try copies.finish(&header)
      }
      return count
    }
  }
}
