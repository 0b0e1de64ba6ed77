internal import Glibc
internal import KistCore
internal import KistFile
internal import Logging

/// `kistd migrate`: moves the credentials to another storage, and gives the exit status.
func migrate(
  _ arguments: [String], environment: @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  let (kind, options) = try parse(MigrateCommand.self, arguments).options(environment: environment)
  let keySource = try EncryptedFile.KeySource(options.keySource)
  let logger = Logger.kistd(level: options.logLevel)
  let pinFile = PinFile(path: options.pinFile)
  let pin = try pinFile.read()
  let presence = EncryptedFile.presence(at: options.storePath)
  // A pinned file that is gone, or is another one, is not the one to move from, or on to.
  if pin != nil { _ = try Selection.select(asked: nil, pin: pin, keyring: nil, file: presence) }
  let bus = sessionBusAddress(environment: environment, isSocket: isSocket)
  let keyring = try OpenStorage.keyring(options, busAddress: bus).mappingErrors { error in
    error.ofKeyring(isPinned: pin?.kind == .libsecret)
  }
  return try await keyring.closed { keyring throws(StorageError) in
    // First, so that no file is made beside a keyring out of reach.
    do throws(StorageError) { try await requireOpen(keyring, .libsecret) } catch {
      guard kind == .encryptedFile, pin?.kind == kind, error.code == .unavailable else {
        throw error
      }
      print(
        "credentials are kept in \(kind.name) already; whether any were left in "
          + "\(kind.other.name) cannot be seen: \(error.message)")
      return 0
    }
    if kind == .libsecret, presence == .absent {
      try pinFile.write(Pin(kind: kind, storeID: nil), insteadOf: pin)
      return try tell(.moved(0, left: []), to: kind, before: pin, options)
    }
    return try await OpenStorage.encryptedFile(options, keySource: keySource, logger: logger)
      .closed { file throws(StorageError) in
        try await requireOpen(file, .encryptedFile)
        let (source, target) = kind == .libsecret ? (file, keyring) : (keyring, file)
        var previous = pin
        if pin == nil, try await target.credentials.findAll().isEmpty {
          // Cut off, it would leave credentials in both, and nothing to say which ones count.
          let begun = Pin(kind: kind.other, storeID: source.id)
          try pinFile.write(begun, insteadOf: nil)
          previous = begun
        }
        let new = Pin(kind: kind, storeID: target.id)
        let outcome = try await Migration(
          from: source.credentials, to: target.credentials, isSwitched: pin == new,
          switchPin: { [previous] () throws(StorageError) in
            try pinFile.write(new, insteadOf: previous)
          }, report: showProgress
        ).runAsCommand()
        return try tell(outcome, to: kind, before: pin, options)
      }
  }
}

extension Migration {
  /// Runs it where there is no kistd with which to unlock a keyring that is locked meanwhile.
  fileprivate func runAsCommand() async throws(StorageError) -> Outcome {
    do throws(StorageError) { return try await run() } catch {
      guard error.code == .locked else { throw error }
      throw .locked(
        error.message, hint: "run `kistd migrate` again: it has the keyring's provider ask")
    }
  }
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

/// Unlocks a storage that is locked, where it must by the prompt of a keyring: it is a person who
/// migrates.
private func requireOpen(
  _ storage: OpenStorage, _ kind: StorageKind
) async throws(StorageError) {
  let status = try await storage.access.status()
  guard status.isLocked else { return }
  do throws(StorageError) { _ = try await storage.access.unlock(nil) } catch {
    guard kind == .encryptedFile, error.code == .locked else { throw error }
    throw .locked(
      error.message,
      hint: status.unlocksWith == .passphrase
        ? "give its passphrase with --passphrase-fd" : "put it right, and run it again")
  }
}

/// One line that is written again and again, where a person looks on; an error, too, takes its place.
private func showProgress(_ step: Migration.Step, _ done: Int, _ total: Int) {
  guard isatty(STDERR_FILENO) == 1 else { return }
  writeToStandardError("\(step.rawValue) \(done) of \(total)" + (done == total ? "\n" : "\r"))
}

private func tell(
  _ outcome: Migration.Outcome, to kind: StorageKind, before pin: Pin?, _ options: Options
) throws(StorageError) -> CInt {
  switch outcome {
  case .moved(let count, let left):
    print(summary(of: count, to: kind, wasThere: pin?.kind == kind))
    guard !left.isEmpty else { return 0 }
    list(left, "differs")
    throw StorageError(
      .conflict,
      "\(kind.other.name) still has \(left.count) that are not, or not the same, in \(kind.name), "
        + "which counts",
      hint: "they were left as they are; to delete one of them: "
        + options.deletion(from: kind.other))
  case .differing(let keys):
    list(keys, "differs")
    throw StorageError(
      .conflict,
      "\(kind.name) has something else under \(keys.count) of the keys; nothing was "
        + "copied or removed, and credentials are kept where they were",
      hint: "delete the one that you do not need of each two, with "
        + "`kistd -- kist delete SERVICE ACCOUNT` where credentials are kept, or else with "
        + options.deletion(from: kind) + "; then run it again",
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

/// What became of those that needed nobody's attention.
private func summary(of count: Int, to kind: StorageKind, wasThere: Bool) -> String {
  let credentials = "\(count) credential\(count == 1 ? "" : "s")"
  return switch (wasThere, count) {
  case (false, 0): "there was nothing to move; credentials are kept in \(kind.name) from now on"
  case (false, _): "moved \(credentials) from \(kind.other.name) to \(kind.name)"
  case (true, 0): "credentials are kept in \(kind.name) already; nothing was moved"
  case (true, _):
    "credentials are kept in \(kind.name) already; removed \(credentials) from "
      + "\(kind.other.name) that had been left there"
  }
}

extension Options {
  /// The command that deletes a credential in a storage that credentials are not kept in.
  fileprivate func deletion(from kind: StorageKind) -> String {
    let start =
      switch kind {
      case .libsecret: "kistd --storage libsecret --data \"$(mktemp -d)\""
      case .encryptedFile: "kistd --storage encrypted-file --data \(dataDirectory)"
      }
    return "`\(start) -- kist delete SERVICE ACCOUNT`"
  }
}

/// A reference has nothing in it that a terminal would obey.
private func list(_ keys: [CredentialKey], _ what: String) {
  for key in keys.sorted() { writeToStandardError("\(what): \(CredentialReference(key))\n") }
}
