internal import Glibc
internal import KistCore
internal import KistFile
internal import Logging

/// `kistd migrate`: moves the credentials to another storage, and gives the exit status.
func migrate(
  to kind: StorageKind, _ options: Options, keySource: EncryptedFile.KeySource,
  environment: (String) -> String?, logger: Logger
) async throws(StorageError) -> CInt {
  let pinFile = PinFile(path: options.pinFile)
  let pin = try pinFile.read()
  let presence = EncryptedFile.presence(at: options.storePath)
  // A pinned file that is gone, or is another one, is not the one to move from, or on to.
  if pin != nil { _ = try Selection.select(asked: .auto, pin: pin, keyring: nil, file: presence) }
  let bus = sessionBusAddress(environment: environment, isSocket: isSocket)
  let outcome = try await OpenStorage.keyring(options, busAddress: bus).closed {
    keyring throws(StorageError) in
    // First, so that no file is made beside a keyring out of reach.
    try await requireOpen(keyring, .libsecret)
    if kind == .libsecret, presence == .absent {
      try pinFile.write(Pin(kind: kind, storeID: nil))
      return Migration.Outcome.moved(0, left: [])
    }
    return try await OpenStorage.encryptedFile(options, keySource: keySource, logger: logger)
      .closed { file throws(StorageError) in
        try await requireOpen(file, .encryptedFile)
        let (source, target) = kind == .libsecret ? (file, keyring) : (keyring, file)
        if pin == nil, try await target.credentials.findAll().isEmpty {
          // Cut off, it would leave credentials in both, and nothing to say which ones count.
          try pinFile.write(Pin(kind: kind.other, storeID: source.id))
        }
        let new = Pin(kind: kind, storeID: target.id)
        return try await Migration(
          from: source.credentials, to: target.credentials, isSwitched: pin == new,
          switchPin: { () throws(StorageError) in try pinFile.write(new) }, report: showProgress
        ).run()
      }
  }
  return try tell(outcome, to: kind)
}

extension OpenStorage {
  /// Lends the storage, and closes it however that ends.
  fileprivate func closed<Result>(
    after body: (OpenStorage) async throws(StorageError) -> Result
  ) async throws(StorageError) -> Result {
    do throws(StorageError) {
      let result = try await body(self)
      await close()
      return result
    } catch {
      await close()
      throw error
    }
  }
}

/// Shows the prompt of a keyring that is locked: it is a person who migrates.
private func requireOpen(
  _ storage: OpenStorage, _ kind: StorageKind
) async throws(StorageError) {
  guard try await storage.access.status().isLocked else { return }
  guard kind == .libsecret else {
    throw .locked(
      "the encrypted file is locked", hint: "give its passphrase with --passphrase-fd")
  }
  _ = try await storage.access.unlock(nil)
}

/// One line that is written again and again, where a person looks on; an error, too, takes its place.
private func showProgress(_ step: Migration.Step, _ done: Int, _ total: Int) {
  guard isatty(STDERR_FILENO) == 1 else { return }
  writeToStandardError("\(step.rawValue) \(done) of \(total)" + (done == total ? "\n" : "\r"))
}

private func tell(_ outcome: Migration.Outcome, to kind: StorageKind) throws(StorageError) -> CInt {
  switch outcome {
  case .moved(let count, let left):
    print(
      "moved \(count) credential\(count == 1 ? "" : "s") from \(kind.other.name) to \(kind.name)")
    guard !left.isEmpty else { return 0 }
    list(left, "differs")
    throw StorageError(
      .conflict,
      "\(kind.other.name) still has \(left.count) that are not, or not the same, in \(kind.name), "
        + "which counts",
      hint: "they were left as they are; remove them there when you do not need them")
  case .differing(let keys):
    list(keys, "differs")
    throw StorageError(
      .conflict,
      "\(kind.name) has something else under \(keys.count) of the keys; nothing was "
        + "copied or removed, and credentials are kept where they were",
      hint: "delete or rename those that are kept, with `kist`, and run it again",
      outcome: .unchanged)
  case .damaged(let keys):
    list(keys, "damaged")
    throw StorageError(
      .corrupt,
      "\(keys.count) of the credentials cannot be read, in \(kind.other.name) or in \(kind.name); "
        + "nothing was copied or removed, and credentials are kept where they were",
      hint: "`kist load` says what is the matter with each of those that are kept",
      outcome: .unchanged)
  }
}

/// A reference has nothing in it that a terminal would obey.
private func list(_ keys: [CredentialKey], _ what: String) {
  for key in keys.sorted() { writeToStandardError("\(what): \(CredentialReference(key))\n") }
}
