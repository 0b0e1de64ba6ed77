package import KistCore
internal import KistSodium
internal import KistVault

extension EncryptedFile {
  /// The options to give a store a new key.
  package struct Rekeying {
    /// The path of the store, its current key, and the cost of its passphrase afterwards.
    package var options: Options
    /// The key file to replace, if it opens the store.
    package var keyFile: String?
    /// The passphrase for the new key; `nil` keeps the one in the options.
    package var newPassphrase: Secret?
    /// Whether to drop key slots whose passphrase or key file was not given.
    package var dropsOthers: Bool
    /// Called with the ids of the store and of the one that is about to replace it.
    package var willSwitch: (_ old: String, _ new: String) throws(StorageError) -> Void
    /// Called with the number of copied credentials and the total.
    package var report: (_ done: Int, _ of: Int) -> Void

    package init(
      _ options: Options, keyFile: String? = nil, newPassphrase: Secret? = nil,
      dropsOthers: Bool = false,
      willSwitch: @escaping (String, String) throws(StorageError) -> Void = { _, _ in },
      report: @escaping (Int, Int) -> Void = { _, _ in }
    ) {
      self.options = options
      self.keyFile = keyFile
      self.newPassphrase = newPassphrase
      self.dropsOthers = dropsOthers
      self.willSwitch = willSwitch
      self.report = report
    }
  }

  /// The result of a rekey.
  package struct Rekeyed: Sendable, Equatable {
    /// The id of the new store.
    package var id: String
    package var count: Int
    /// The path of the old key, if the key file was replaced.
    package var oldKeyFile: String?
    /// Whether a passphrase opens the new store.
    package var hasPassphrase: Bool
    /// The number of dropped key slots.
    package var dropped: Int
  }

  /// Replaces the store with a copy under a new master key.
  ///
  /// Throws `busy` where the store is in use, `corrupt` where it has any fault, and `badRequest`
  /// where a key slot would be lost. Nothing was changed, unless the outcome is `unknown`.
  package static func rekey(_ rekeying: Rekeying) throws(StorageError) -> Rekeyed {
    try rekeying.run()
  }
}

extension EncryptedFile.Rekeying {
  fileprivate func run() throws(StorageError) -> EncryptedFile.Rekeyed {
    let owner = try EncryptedFile.own(options.path)
    defer { owner.release() }
    let original = try mergedStore()
    if let keyFile {
      try KeyFileChange.finish(.keyFile(path: keyFile), original.slots, storeID: original.id)
    }
    let kept = try KeptSlots(self, original)
    discardRekeys(of: options.path, original.slots, keyFile: kept.keyFile)
    let id = randomBytes(StoreFormat.storeIDSize)
    let keyFile = kept.keyFile.map { KeyFileChange(of: $0, for: id) }
    let copy = UnfinishedStore.rekeyed(beside: options.path, id: id)
    var options = options
    // A passphrase that already opens the store may be short.
    options.allowsWeakPassphrase = true
    do throws(StorageError) {
      // The name of the copy must be on disk first: by it, the next start finds keys that are not
      // needed.
      try copy.begin()
      try flushDirectory(of: options.path)
      try keyFile?.keepOld()
      let keyFiles = keyFile.map { [EncryptedFile.KeySource.keyFile(path: $0.next)] } ?? []
      let sources = keyFiles + kept.passphrases
      try copy.write(copyOf: original, options, id: id, openedBy: sources, report: report)
      try willSwitch(hexadecimal(original.id), hexadecimal(id))
      try copy.rename(to: options.path)
    } catch {
      // The store may have been replaced, and then only the new key opens it.
      guard error.outcome != .unknown else { throw error }
      try? copy.begin()
      // The next start removes whatever cannot be removed now.
      if keyFile == nil || (try? keyFile?.discard()) != nil { copy.discard() }
      throw error.withOutcome(.unchanged)
    }
    do throws(StorageError) {
      try flushDirectory(of: options.path)
      noteReplacement(of: original)
      try keyFile?.finish()
    } catch { throw error.withOutcome(.unknown) }
    return EncryptedFile.Rekeyed(
      id: hexadecimal(id), count: original.count, oldKeyFile: keyFile?.old,
      hasPassphrase: !kept.passphrases.isEmpty, dropped: kept.dropped)
  }

  /// Makes kistd refuse a copy of the old store in the place of the new one.
  private func noteReplacement(of original: WholeStore) {
    guard let progress = options.progress else { return }
    do throws(StorageError) {
      try ProgressFile(progress, store: options.path, keys: original.keys)
        .writeReplaced(at: options.now(), nonce: options.nonces(1))
    } catch { progress.report(error) }
  }

  /// Returns the store after its log was merged into it.
  ///
  /// The log of one store must not be beside another store.
  private func mergedStore() throws(StorageError) -> WholeStore {
    let original = try WholeStore(
      options.path, openedBy: options.keySource, progress: options.progress)
    let log = options.path + "-wal"
    guard try exists(log) else { return original }
    try original.eachCredential(report: { _, _ in }) { _ in }
    try rewriteLog(of: options.path)
    let connection = Connection(path: options.path, readonly: false, cacheKibibytes: 256)
    try connection.open()
    let isMerged = try connection.use { database throws(StorageError) in try database.checkpoint() }
    connection.close()
    guard isMerged, try !exists(log) else {
      throw StorageError(
        .unavailable, "the log of the store could not be brought into it", hint: "try again",
        outcome: .unchanged)
    }
    try flushDirectory(of: options.path)
    return try WholeStore(options.path, openedBy: options.keySource)
  }
}

/// The key slots that a rekey keeps, by the keys that open them.
private struct KeptSlots {
  /// The key file to replace.
  var keyFile: String?
  /// The source of the passphrase, if there is one; at most one.
  var passphrases: [EncryptedFile.KeySource]
  /// The number of slots that are not replaced.
  var dropped: Int

  init(_ rekeying: EncryptedFile.Rekeying, _ store: WholeStore) throws(StorageError) {
    let keyFiles = store.slots.count { $0.kind == .keyFile }
    if keyFiles > 0, let path = rekeying.keyFile {
      do throws(StorageError) {
        _ = try masterKey(from: .keyFile(path: path), store.slots, storeID: store.id)
        keyFile = path
      } catch {
        guard error.code == .locked else { throw error }
      }
    }
    passphrases = []
    if let new = rekeying.newPassphrase {
      try checkNewPassphrase(new, allowsWeak: rekeying.options.allowsWeakPassphrase)
      passphrases = [.passphrase(new)]
    } else if rekeying.options.keySource.isPassphrase {
      passphrases = [rekeying.options.keySource]
    }
    let others = store.slots.count(where: \.isPassphrase)
    // A slot of an unknown kind is wrapped under a key that is not available here.
    let unknown = store.slots.count { !$0.isKnown }
    dropped = keyFiles - (keyFile == nil ? 0 : 1) + max(0, others - passphrases.count) + unknown
    guard dropped == 0 || rekeying.dropsOthers else { throw .wouldDrop(dropped, unknown: unknown) }
  }
}

extension EncryptedFile.KeySource {
  fileprivate var isPassphrase: Bool {
    switch self {
    case .passphrase, .passphraseFile: true
    case .keyFile, .none: false
    }
  }
}

extension StorageError {
  fileprivate static func wouldDrop(_ count: Int, unknown: Int) -> StorageError {
    if unknown > 0 {
      return StorageError(
        .badRequest,
        "\(count) of the key slots of the store would be lost, \(unknown) of a kind that this kistd "
          + "does not know; nothing was changed",
        hint: "leave them out with --drop-others, or use the version of kistd that made them",
        outcome: .unchanged)
    }
    return StorageError(
      .badRequest,
      "\(count == 1 ? "one" : "\(count)") of the key slots of the store would be lost: "
        + "what opens \(count == 1 ? "it" : "them") was not given; nothing was changed",
      hint:
        "name the key file with --key-file, give the passphrase with --passphrase-fd or a new one "
        + "with --new-passphrase-fd, or leave out what was not given with --drop-others",
      outcome: .unchanged)
  }
}
