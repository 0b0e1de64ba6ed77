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
  let bus = sessionBusAddress(environment: environment, isSocket: isSocket)
  let keyring = try OpenStorage.keyring(options, busAddress: bus)
  let file: OpenStorage? =
    kind == .libsecret && EncryptedFile.presence(at: options.storePath) == .absent
    ? nil : try await .encryptedFile(options, keySource: keySource, logger: logger)
  let result: Result<Migration.Outcome, StorageError>
  do throws(StorageError) {
    try await requireOpen(keyring, .libsecret)
    if let file { try await requireOpen(file, .encryptedFile) }
    let nothing = UserStorage.inMemory()
    let (source, target) =
      kind == .libsecret
      ? (file?.credentials ?? nothing, keyring.credentials)
      : (keyring.credentials, file?.credentials ?? nothing)
    let new = Pin(kind: kind, storeID: kind == .encryptedFile ? file?.id : nil)
    let migration = Migration(
      from: source, to: target, isSwitched: pin?.kind == kind,
      switchPin: { () throws(StorageError) in try pinFile.write(new) }, report: showProgress)
    result = .success(try await migration.run())
  } catch { result = .failure(error) }
  await file?.close()
  await keyring.close()
  return try tell(result.get(), to: kind)
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

/// One line that is written again and again, where a person looks on.
private func showProgress(_ step: Migration.Step, _ done: Int, _ total: Int) {
  guard isatty(STDERR_FILENO) == 1 else { return }
  writeToStandardError("\r\(step.rawValue) \(done) of \(total)" + (done == total ? "\n" : ""))
}

private func tell(_ outcome: Migration.Outcome, to kind: StorageKind) throws(StorageError) -> CInt {
  let other = kind == .libsecret ? StorageKind.encryptedFile : .libsecret
  switch outcome {
  case .moved(let count):
    print(
      "moved \(count) credential\(count == 1 ? "" : "s") from \(other.name) to \(kind.name)")
    return 0
  case .differing(let keys):
    for key in keys { writeToStandardError("differs: \(CredentialReference(key))\n") }
    throw StorageError(
      .conflict,
      "\(kind.name) has something else under \(keys.count) of the keys; nothing was "
        + "removed, and credentials are kept where they were",
      hint: "delete or rename one of the two, and run it again", outcome: .unchanged)
  }
}
