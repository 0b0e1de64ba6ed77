internal import KistCore
internal import KistSodium
internal import KistVault

extension FileStore {
  /// Makes a backup, or returns the progress of one that was begun.
  func backup(_ request: BackupRequest) async throws(StorageError) -> BackupProgress {
    switch request {
    case .begin(let passphrase, let allowsWeak):
      try await beginBackup(passphrase, allowsWeak: allowsWeak)
    case .goOn(let id): try await backups.progress(of: id)
    }
  }

  /// Copies the store, as it is at one moment, into a file that only the passphrase opens.
  private func beginBackup(
    _ passphrase: Secret, allowsWeak: Bool
  ) async throws(StorageError) -> BackupProgress {
    let session = try session()
    try checkNewPassphrase(passphrase, allowsWeak: allowsWeak)
    var options = options
    options.allowsWeakPassphrase = allowsWeak
    try await session.check.settle(within: watch)
    let unfinished = UnfinishedStore.backup(beside: options.path)
    return try await backups.make(unfinished) { [self, options] report throws(StorageError) in
      var count = 0
      try unfinished.write(
        options, id: randomBytes(StoreFormat.storeIDSize), openedBy: [.passphrase(passphrase)]
      ) { database, keys, header throws(StorageError) in
        try connections.snapshot { original throws(StorageError) in
          let all = Int(clamping: try original.header(session.keys).count)
          var done = 0
          try original.eachCredential(session.keys) { row throws(StorageError) in
            // Each step checks this, so that locking or closing the store does not wait for the
            // backup.
            _ = try self.session()
            try report(done, all)
            try database.copy(row, under: keys, &header, nonces: options.nonces)
            done += 1
          }
        }
        count = Int(clamping: header.count)
      }
      return count
    }
  }
}
