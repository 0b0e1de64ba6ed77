internal import KistCore
internal import KistJSON
internal import KistSystem
internal import KistWire
internal import Logging

/// Prints the result of `kistd migrate`.
struct MigrationReport {
  var source: StorageKind
  var target: StorageKind
  /// Whether the source has no store yet.
  var isSourceMissing = false
  /// Whether credentials were kept in the target before.
  var wasSwitched: Bool
  /// Whether the source keeps its credentials, because another store also uses it.
  var keepsSource: Bool
  var options: Options
  /// Whether to print one object instead of lines.
  var isJSON: Bool

  /// Prints the result, and throws an error if credentials are left or nothing was moved.
  func show(_ outcome: Migration.Outcome) throws(StorageError) -> CInt {
    if isJSON { printJSON(json(of: outcome)) } else { printLines(of: outcome) }
    try check(outcome)
    return 0
  }

  private func printLines(of outcome: Migration.Outcome) {
    switch outcome {
    case .moved(let count, let left):
      printLine(summary(of: count))
      if keepsSource {
        printLine("\(source.name) was not changed: \(otherUser)")
      }
      list(left, "differs")
    case .differing(let keys): list(keys, "differs")
    case .damaged(let keys): list(keys, "damaged")
    }
  }

  /// The reason why the source keeps its credentials.
  private var otherUser: String {
    source == .shared
      ? "other machines use it" : "kistd without --data keeps credentials there"
  }

  private func check(_ outcome: Migration.Outcome) throws(StorageError) {
    switch outcome {
    case .moved(_, let left):
      guard !left.isEmpty else { return }
      throw StorageError(
        .conflict,
        "\(left.count) of the credentials in \(source.name) are missing from \(target.name) or "
          + "differ there; kistd uses \(target.name)",
        hint: "they were not changed; to delete one of them: \(options.deletion(from: source))"
      )
    case .differing(let keys):
      let deletion = options.deletion(from: target)
      throw StorageError(
        .conflict,
        "\(target.name) has other credentials with \(keys.count) of the names; nothing was "
          + "copied or removed, and kistd uses the same storage as before",
        hint: keepsSource
          ? "delete those in \(target.name) with \(deletion), and run it again; "
            + "\(source.name) must stay as it is: \(otherUser)"
          : "delete one of each pair: in \(source.name) with \(options.deletion(from: source)), or in "
            + "\(target.name) with \(deletion); then run it again",
        outcome: .unchanged)
    case .damaged(let keys):
      throw StorageError(
        .corrupt,
        "\(keys.count) of the credentials cannot be read, in \(source.name) or in \(target.name); "
          + "nothing was copied or removed, and kistd uses the same storage as before",
        hint: "`kist load` reports the fault of each one in the storage that kistd uses",
        outcome: .unchanged)
    }
  }

  /// Reports that the source, which is no longer in use, could not be opened.
  func showUnchecked(because error: StorageError) {
    guard !isJSON else {
      return printJSON(json(of: .moved(0, left: []), unchecked: error))
    }
    printLine(
      "credentials are kept in \(target.name) already; kistd cannot check whether "
        + "\(source.name) still has any: \(error.message)")
  }

  /// The result for a program: one object on one line.
  private func json(of outcome: Migration.Outcome, unchecked: StorageError? = nil) -> Secret {
    var (count, differing, damaged): (Int, [CredentialKey], [CredentialKey]) = (0, [], [])
    var isTargetInUse = wasSwitched
    switch outcome {
    case .moved(let moved, let left): (count, differing, isTargetInUse) = (moved, left, true)
    case .differing(let keys): differing = keys
    case .damaged(let keys): damaged = keys
    }
    return JSONWriter.object { writer in
      writer.member("from", source.rawValue)
      writer.member("to", target.rawValue)
      writer.member("isInUse", isTargetInUse)
      writer.member("count", count)
      writer.member("keepsSource", keepsSource)
      writer.member("differing", arrayOf: differing.sorted(), writeKey)
      writer.member("damaged", arrayOf: damaged.sorted(), writeKey)
      if let unchecked {
        writer.member("unchecked") { (writer: inout JSONWriter) in unchecked.write(to: &writer) }
      }
    }
  }

  private func writeKey(_ key: CredentialKey, _ writer: inout JSONWriter) {
    writer.braced { writer in
      writer.member("service", key.service)
      writer.member("account", key.account)
    }
  }

  private func summary(of count: Int) -> String {
    let credentials = counted(count)
    let nothing =
      isSourceMissing
      ? "\(options.dataDirectory) has no store to move" : "there was nothing to move"
    return switch (wasSwitched, count) {
    case (false, 0): "\(nothing); credentials are kept in \(target.name) from now on"
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
  /// A shared vault always does. There is one external storage for each user. It stays unchanged if kistd without `--data` also
  /// keeps credentials in it.
  func keepsInMigration(_ source: StorageKind) throws(StorageError) -> Bool {
    // A migration moves this machine, not the others that share the vault.
    if source == .shared { return true }
    guard source.isExternal, namesDirectory else { return false }
    return try PinFile(path: usualPinFile).read()?.kind == source
  }

  /// Returns the command that deletes a credential from a storage, whether or not it is in use.
  func deletion(from kind: StorageKind) -> String {
    let data = kind.isExternal ? "\"$(mktemp -d)\"" : shellQuoted(dataDirectory)
    return "`kistd --storage \(kind.rawValue) --data \(data) -- kist delete SERVICE ACCOUNT`"
  }
}
