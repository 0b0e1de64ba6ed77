internal import KistCore
internal import KistSystem
internal import Logging

extension Migration {
  /// Runs the migration, with a hint that needs no running kistd if a storage becomes locked.
  func runAsCommand() async throws(StorageError) -> Outcome {
    do throws(StorageError) { return try await run() } catch {
      guard error.code == .locked else { throw error }
      throw .locked(error.message, hint: "run `kistd migrate` again, which unlocks it")
    }
  }
}

/// Prints the outcome of a migration.
struct MigrationReport: Sendable {
  var source: StorageKind
  var target: StorageKind
  /// Whether credentials were kept in the target before.
  var wasSwitched: Bool
  /// Whether the source keeps its credentials, because another store also uses it.
  var keepsSource: Bool
  var options: Options

  /// Prints the outcome, and returns the exit status.
  func show(_ outcome: Migration.Outcome) throws(StorageError) -> CInt {
    switch outcome {
    case .moved(let count, let left):
      printLine(summary(of: count))
      if keepsSource {
        printLine("\(source.name) was left as it is: kistd without --data keeps credentials there")
      }
      guard !left.isEmpty else { return 0 }
      list(left, "differs")
      throw StorageError(
        .conflict,
        "\(source.name) still has \(left.count) that are not, or not the same, in \(target.name), "
          + "which counts",
        hint: "they were left as they are; to delete one of them: \(options.deletion(from: source))"
      )
    case .differing(let keys):
      list(keys, "differs")
      let deletion = options.deletion(from: target)
      throw StorageError(
        .conflict,
        "\(target.name) has something else under \(keys.count) of the keys; nothing was "
          + "copied or removed, and credentials are kept where they were",
        hint: keepsSource
          ? "delete those in \(target.name) with \(deletion), and run it again; "
            + "those in \(source.name) are also those of kistd without --data"
          : "delete the one that you do not need of each two, with "
            + "`kistd -- kist delete SERVICE ACCOUNT` where credentials are kept, or else with "
            + deletion + "; then run it again",
        outcome: .unchanged)
    case .damaged(let keys):
      list(keys, "damaged")
      throw StorageError(
        .corrupt,
        "\(keys.count) of the credentials cannot be read, in \(source.name) or in \(target.name); "
          + "nothing was copied or removed, and credentials are kept where they were",
        hint: "`kist load` says what is the matter with each of those that are kept",
        outcome: .unchanged)
    }
  }

  /// Returns a line about the credentials that need no attention.
  private func summary(of count: Int) -> String {
    let credentials = counted(count)
    return switch (wasSwitched, count) {
    case (false, 0): "there was nothing to move; credentials are kept in \(target.name) from now on"
    case (false, _):
      "\(keepsSource ? "copied" : "moved") \(credentials) from \(source.name) to \(target.name)"
    case (true, 0): "credentials are kept in \(target.name) already; nothing was moved"
    case (true, _):
      "credentials are kept in \(target.name) already; removed \(credentials) from "
        + "\(source.name) that had been left there"
    }
  }

  private func list(_ keys: [CredentialKey], _ what: String) {
    for key in keys.sorted() {
      StandardError().write("\(what): \(CredentialReference(key))", level: .notice)
    }
  }
}

extension Options {
  /// Returns whether a migration leaves the source unchanged.
  ///
  /// There is one external storage for each user. It stays unchanged if kistd without `--data` also
  /// keeps credentials in it.
  func keepsInMigration(_ source: StorageKind) throws(StorageError) -> Bool {
    guard source.isExternal, pinFile != usualPinFile else { return false }
    return try PinFile(path: usualPinFile).read()?.kind == source
  }

  /// Returns the command that deletes a credential from the storage that is not in use.
  func deletion(from kind: StorageKind) -> String {
    let data = kind.isExternal ? "\"$(mktemp -d)\"" : shellQuoted(dataDirectory)
    return
      "`kistd --storage \(kind.rawValue) --data \(data) -- kist delete SERVICE ACCOUNT`"
  }
}
