package import KistCore
internal import KistSodium

extension EncryptedFile {
  /// How a store is given a new key.
  package struct Rekeying {
    /// Where it is, what opens it now, and what a passphrase costs from then on.
    package var options: Options
    /// The key file that is replaced, if it opens the store.
    package var keyFile: String?
    /// The passphrase that opens it from then on; that of the options where there is `nil`.
    package var newPassphrase: Secret?
    /// Whether ways in are left out for which nothing was given.
    package var dropsOthers: Bool
    /// Told the ids of the store and of the one that is about to take its place.
    package var willSwitch: (_ old: String, _ new: String) throws(StorageError) -> Void
    /// Told how many of how many credentials were copied.
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

  /// What became of it.
  package struct Rekeyed: Sendable, Equatable {
    /// The id of the store.
    package var id: String
    package var count: Int
    /// Where the old key is, if the key file was replaced.
    package var oldKeyFile: String?
    /// Whether a passphrase opens it.
    package var hasPassphrase: Bool
    /// How many ways in were left out.
    package var dropped: Int
  }

  /// Puts a copy of the store, under a new master key, in its place.
  ///
  /// Throws `busy` where it is in use, `corrupt` where anything is wrong with it, `badRequest` where a
  /// way in would be lost. Where the outcome is not `unknown`, everything is as it was.
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
    let ways = try WaysIn(self, original)
    let id = randomBytes(StoreFormat.storeIDSize)
    let keyFile = ways.keyFile.map { KeyFileChange(of: $0, for: id) }
    let copy = UnfinishedStore.new(beside: options.path)
    do throws(StorageError) {
      try keyFile?.keepOld()
      let keyFiles = keyFile.map { [EncryptedFile.KeySource.keyFile(path: $0.next)] } ?? []
      let sources = keyFiles + ways.passphrases
      try copy.write(copyOf: original, options, id: id, openedBy: sources, report: report)
      try willSwitch(hexadecimal(original.id), hexadecimal(id))
      try copy.rename(to: options.path)
    } catch {
      // Of a store that may have been replaced, the new key is all that opens it.
      guard error.outcome != .unknown else { throw error }
      copy.discard()
      keyFile?.undo()
      throw error.withOutcome(.unchanged)
    }
    do throws(StorageError) {
      try flushDirectory(of: options.path)
      try keyFile?.finish()
    } catch { throw error.withOutcome(.unknown) }
    return EncryptedFile.Rekeyed(
      id: hexadecimal(id), count: original.count, oldKeyFile: keyFile?.old,
      hasPassphrase: !ways.passphrases.isEmpty, dropped: ways.dropped)
  }

  /// The store, whole, with all that was in its log: the log of one store must not lie beside another.
  private func mergedStore() throws(StorageError) -> WholeStore {
    let original = try WholeStore(options.path, openedBy: options.keySource)
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

/// What opens a store that is given a new key, and what opens it then.
private struct WaysIn {
  /// The key file that is replaced.
  var keyFile: String?
  /// At most one, as a source.
  var passphrases: [EncryptedFile.KeySource]
  /// How many slots have no successor.
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
      try checkPassphrase(new)
      passphrases = [.passphrase(new)]
    } else if rekeying.options.keySource.isPassphrase {
      passphrases = [rekeying.options.keySource]
    }
    let others = store.slots.count - keyFiles
    dropped = keyFiles - (keyFile == nil ? 0 : 1) + max(0, others - passphrases.count)
    guard dropped == 0 || rekeying.dropsOthers else { throw .wouldDrop(dropped) }
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
  fileprivate static func wouldDrop(_ count: Int) -> StorageError {
    StorageError(
      .badRequest,
      "\(count == 1 ? "one of the ways in" : "\(count) of the ways in") to the store would be lost: "
        + "what opens \(count == 1 ? "it" : "them") was not given; nothing was changed",
      hint:
        "name the key file with --key-file, give the passphrase with --passphrase-fd or a new one "
        + "with --new-passphrase-fd, or leave out what was not given with --drop-others",
      outcome: .unchanged)
  }
}
