internal import KistCore
internal import KistSodium

extension FileStore {
  /// Has a backup made, or tells how far the one is that was begun.
  func backup(_ request: BackupRequest) async throws(StorageError) -> BackupProgress {
    switch request {
    case .begin(let passphrase): try await beginBackup(passphrase)
    case .goOn(let id): try await backups.progress(of: id)
    }
  }

  /// Copies the store, as it is at one moment, into one that the passphrase alone opens.
  private func beginBackup(_ passphrase: Secret) async throws(StorageError) -> BackupProgress {
    let session = try session()
    try checkPassphrase(passphrase)
    try await session.check.settle(within: options.deadline)
    let unfinished = UnfinishedStore.backup(beside: options.path)
    return try await backups.make(unfinished) { [self] report throws(StorageError) in
      var count = 0
      try unfinished.write(
        options, id: randomBytes(StoreFormat.storeIDSize), openedBy: [.passphrase(passphrase)]
      ) { database, keys, header throws(StorageError) in
        var copies = Copies(database: database, keys: keys, nonces: { self.options.nonces(1) })
        try connections.snapshot { original throws(StorageError) in
          let all = Int(clamping: try original.header(session.keys).count)
          var done = 0
          try original.eachCredential(session.keys) { row throws(StorageError) in
            // Who locks or closes the store does not wait for this.
            _ = try self.session()
            try report(done, all)
            try copies.put(row)
            done += 1
          }
        }
        count = try copies.finish(&header)
      }
      return count
    }
  }
}
