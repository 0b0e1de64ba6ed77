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
    package var dropsOthers = false
    /// Called with the ids of the store and of the one that is about to replace it.
    package var willSwitch: (_ old: String, _ new: String) throws(StorageError) -> Void = { _, _ in
    }
    /// Called with the number of copied credentials and the total.
    package var report: (_ done: Int, _ of: Int) -> Void = { _, _ in }
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
    var options = rekeying.options
    let owner = try own(options.path)
    defer { owner.release() }
    let original = try mergedStore(options)
    if let path = rekeying.keyFile {
      try KeyFileChange.finish(.keyFile(path: path), original.slots, storeID: original.id)
    }
    let kept = try KeptSlots(rekeying, original)
    try discardRekeys(of: options.path, original.slots, keyFile: kept.keyFile)
    let id = randomBytes(StoreFormat.storeIDSize)
    let keyFile = kept.keyFile.map { KeyFileChange(of: $0, for: id) }
    // While the copy has this name, it has not replaced the store. Its key opens only the copy.
    let copy = UnfinishedStore(path: "\(options.path).new-\(hexadecimal(id))")
    // A passphrase that already opens the store may be short.
    options.allowsWeakPassphrase = true
    do throws(StorageError) {
      // Flushes the copy's name first, by which the next start after a crash finds leftover keys.
      try copy.begin()
      try flushDirectory(of: options.path)
      try keyFile?.keepOld()
      let keyFiles = keyFile.map { [KeySource.keyFile(path: $0.next)] } ?? []
      let sources = keyFiles + kept.passphrases
      try copy.write(
        copyOf: original, options, id: id, openedBy: sources, report: rekeying.report)
      try rekeying.willSwitch(hexadecimal(original.id), hexadecimal(id))
      try copy.rename(to: options.path)
    } catch {
      // The store may have been replaced, and then only the new key opens it.
      guard error.outcome != .unknown else { throw error }
      try? copy.begin()
      // The next start removes whatever cannot be removed now.
      if keyFile == nil || (try? keyFile?.discard()) != nil { try? copy.discard() }
      throw error.withOutcome(.unchanged)
    }
    do throws(StorageError) {
      try flushDirectory(of: options.path)
      noteReplacement(of: original, options)
      try keyFile?.finish()
    } catch { throw error.withOutcome(.unknown) }
    return Rekeyed(
      id: hexadecimal(id), count: original.count, oldKeyFile: keyFile?.old,
      hasPassphrase: !kept.passphrases.isEmpty, dropped: kept.dropped)
  }

  /// Makes kistd refuse a copy of the old store in the place of the new one.
  private static func noteReplacement(of original: WholeStore, _ options: Options) {
    guard let progress = options.progress else { return }
    do throws(StorageError) {
      try ProgressFile(progress, store: options.path, keys: original.keys).write(
        ProgressNote(sequence: ProgressNote.replaced, time: options.now()),
        nonce: options.nonces(1))
    } catch { progress.report(error) }
  }

  /// Merges the log of a store into it, because it must not be beside another store.
  private static func mergedStore(_ options: Options) throws(StorageError) -> WholeStore {
    let original = try WholeStore(
      options.path, openedBy: options.keySource, progress: options.progress)
    let log = options.path + "-wal"
    guard try exists(log) else { return original }
    try original.eachCredential { _ in }
    try rewriteLog(of: options.path)
    // Closing the database removes its log.
    let isMerged = try Database(path: options.path, readonly: false, cacheKibibytes: 256)
      .checkpoint()
    guard isMerged, try !exists(log) else {
      throw StorageError(
        .unavailable, "the store's log could not be written into the store", hint: "try again",
        outcome: .unchanged)
    }
    try flushDirectory(of: options.path)
    return try WholeStore(options.path, openedBy: options.keySource)
  }
}

extension EncryptedFile.Rekeying {
  package init(_ options: EncryptedFile.Options, keyFile: String? = nil) {
    self.init(options: options, keyFile: keyFile, newPassphrase: nil)
  }
}

/// The key slots that a rekey keeps, by the keys that open them.
private struct KeptSlots {
  /// The key file to replace.
  var keyFile: String?
  /// The source of the passphrase, as the only element; empty if there is no passphrase.
  var passphrases: [EncryptedFile.KeySource] = []
  /// The number of slots of the old store that the new one does not replace.
  var dropped: Int

  init(_ rekeying: EncryptedFile.Rekeying, _ store: WholeStore) throws(StorageError) {
    let keyFiles = store.slots.count { $0.kind == .keyFile }
    if keyFiles > 0, let path = rekeying.keyFile {
      do throws(StorageError) {
        _ = try masterKey(from: .keyFile(path: path), store.slots, storeID: store.id)
        keyFile = path
      } catch  where error.code == .locked {}
    }
    if let new = rekeying.newPassphrase {
      try checkNewPassphrase(new, allowsWeak: rekeying.options.allowsWeakPassphrase)
      passphrases = [.passphrase(new)]
    } else {
      switch rekeying.options.keySource {
      case .passphrase, .passphraseFile: passphrases = [rekeying.options.keySource]
      case .keyFile, .none: break
      }
    }
    let others = store.slots.count(where: \.isPassphrase)
    // A slot of an unknown kind is wrapped under a key that is not available here.
    let unknown = store.slots.count { !$0.isKnown }
    dropped = keyFiles - (keyFile == nil ? 0 : 1) + max(0, others - passphrases.count) + unknown
    guard dropped == 0 || rekeying.dropsOthers else { throw .wouldDrop(dropped, unknown: unknown) }
  }
}

extension StorageError {
  fileprivate static func wouldDrop(_ count: Int, unknown: Int) -> StorageError {
    let (reason, hint) =
      unknown > 0
      ? (
        "\(count) of the key slots of the store would be lost, \(unknown) of a kind that this kistd "
          + "does not know; nothing was changed",
        "drop them with --drop-others, or use the version of kistd that made them"
      )
      : (
        "\(count == 1 ? "one" : "\(count)") of the key slots of the store would be lost: "
          + "the passphrase or key file was not given; nothing was changed",
        "name the key file with --key-file, give the passphrase with --passphrase-fd or a new one "
          + "with --new-passphrase-fd, or drop the other key slots with --drop-others"
      )
    return StorageError(.badRequest, reason, hint: hint, outcome: .unchanged)
  }
}
