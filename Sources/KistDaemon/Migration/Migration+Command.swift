internal import KistCore
internal import KistSystem
internal import Logging

extension Migration {
  /// Runs the migration, with a hint that needs no running kistd if the keyring becomes locked.
  func runAsCommand() async throws(StorageError) -> Outcome {
    do throws(StorageError) { return try await run() } catch {
      guard error.code == .locked else { throw error }
      throw .locked(
        error.message, hint: "run `kistd migrate` again: it has the keyring's provider ask")
    }
  }
}

/// Prints the outcome of a migration, and returns the exit status.
func tell(
  _ outcome: Migration.Outcome, to kind: StorageKind, before pin: Pin?, _ options: Options
) throws(StorageError) -> CInt {
  let keepsSource = try options.keepsKeyring(migratingTo: kind)
  switch outcome {
  case .moved(let count, let left):
    tell(summary(of: count, to: kind, wasThere: pin?.kind == kind, isCopy: keepsSource))
    if keepsSource {
      tell("the keyring was left as it is: kistd without --data keeps credentials there")
    }
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
      hint: keepsSource
        ? "delete those in \(kind.name) with \(options.deletion(from: kind)), and run it again; "
          + "those in the keyring are also those of kistd without --data"
        : "delete the one that you do not need of each two, with "
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

/// Returns a line about the credentials that need no attention.
private func summary(
  of count: Int, to kind: StorageKind, wasThere: Bool, isCopy: Bool
) -> String {
  let credentials = counted(count)
  return switch (wasThere, count) {
  case (false, 0): "there was nothing to move; credentials are kept in \(kind.name) from now on"
  case (false, _):
    "\(isCopy ? "copied" : "moved") \(credentials) from \(kind.other.name) to \(kind.name)"
  case (true, 0): "credentials are kept in \(kind.name) already; nothing was moved"
  case (true, _):
    "credentials are kept in \(kind.name) already; removed \(credentials) from "
      + "\(kind.other.name) that had been left there"
  }
}

extension Options {
  /// Returns whether the migration leaves the keyring unchanged.
  ///
  /// There is one keyring. It stays unchanged if kistd without `--data` also keeps credentials in
  /// it.
  func keepsKeyring(migratingTo kind: StorageKind) throws(StorageError) -> Bool {
    guard kind == .encryptedFile, pinFile != usualPinFile else { return false }
    return try PinFile(path: usualPinFile).read()?.kind == .libsecret
  }

  /// Returns the command that deletes a credential from the storage that is not in use.
  func deletion(from kind: StorageKind) -> String {
    let start =
      switch kind {
      case .libsecret: "kistd --storage libsecret --data \"$(mktemp -d)\""
      case .encryptedFile:
        "kistd --storage encrypted-file --data \(shellQuoted(dataDirectory))"
      }
    return "`\(start) -- kist delete SERVICE ACCOUNT`"
  }
}

private func list(_ keys: [CredentialKey], _ what: String) {
  for key in keys.sorted() {
    StandardError().write("\(what): \(CredentialReference(key))", level: .notice)
  }
}
