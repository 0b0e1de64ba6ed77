internal import KistCore
internal import KistSodium

extension FileStore {
  /// Seals what requests name as long as the store is unlocked.
  var nameSeal: NameSeal {
    NameSeal(
      seal: { names, text in
        guard let session = try? self.session() else { return nil }
        return session.keys.seal(names, boundTo: text, nonce: self.options.nonces(1))
      },
      open: { sealed, text throws(StorageError) in
        try self.session().keys.openNames(sealed, boundTo: text)
      })
  }
}
