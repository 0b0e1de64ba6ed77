internal import KistCore
internal import KistSodium

extension FileStore {
  /// The functions that seal the names in requests while the store is unlocked.
  var nameSeal: NameSeal {
    NameSeal(
      begin: {
        guard
          let keys = try? self.session().keys,
          let run = try? SealingRun(under: keys.names, nonce: self.options.nonces(1))
        else { return nil }
        var sealing = NameSealing(run, storeID: keys.storeID)
        return { sealing.seal($0, boundTo: $1, into: &$2) }
      },
      open: { sealed, text throws(StorageError) in
        try self.session().keys.openNames(sealed, boundTo: text)
      },
      hash: { (try? self.session().keys)?.chainHash(of: $0) })
  }
}
