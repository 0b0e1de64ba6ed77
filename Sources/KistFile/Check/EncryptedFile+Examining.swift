package import KistCore
internal import KistSystem
internal import KistVault

extension EncryptedFile {
  /// The contents at the path of a store, as far as they are known without its key.
  package enum Presence: Sendable, Equatable {
    /// The path does not exist.
    case absent
    /// A store with this id.
    case store(id: String, hasCredentials: Bool)
    /// A file that is not a store, is damaged, or is in use by another process.
    case unreadable(StorageError)
  }

  /// Inspects a path without changing anything, not even the mode or the log of a store.
  package static func presence(at path: String) -> Presence {
    do throws(StorageError) {
      guard try exists(path) else {
        if let error = StorageError.fileInPlace(of: directory(of: path)) { throw error }
        return .absent
      }
      let owner = try OwnerLock(beside: path)
      defer { owner.release() }
      try FileHeader.check(path, settingMode: false)
      let database = try Database(inspecting: path, hasLog: try exists(path + "-wal"))
      try database.checkVersion(of: path)
      try Schema.check(database)
      return .store(
        id: hexadecimal(try database.storeRow().id), hasCredentials: try database.hasRows())
    } catch { return .unreadable(error) }
  }

  /// Throws the error of a start with this key file: `locked` where it would open the store locked, and
  /// `corrupt` where the header fails authentication, or the store is older than its progress note.
  ///
  /// Accepts a missing store. A passphrase is not tried.
  package static func checkOpening(_ options: Options) throws(StorageError) {
    guard case .keyFile = options.keySource, try exists(options.path) else { return }
    let owner = try OwnerLock(beside: options.path)
    defer { owner.release() }
    let database = try Database(
      inspecting: options.path, hasLog: try exists(options.path + "-wal"))
    let storeID = try database.storeRow().id
    let master = try masterKey(
      from: options.keySource, try database.slots(storeID: storeID), storeID: storeID)
    let keys = try StoreKeys(master: master, storeID: storeID)
    let header = try database.header(keys)
    _ = try database.slots(of: header, storeID: storeID)
    guard let progress = options.progress else { return }
    do throws(StorageError) {
      _ = try ProgressFile(progress, store: options.path, keys: keys).check(header)
    } catch  where error.code != .corrupt {
      // A start only reports a note that cannot be read.
    }
  }

  /// Throws `busy` where a kistd has the store open.
  package static func checkIsClosed(at path: String) throws(StorageError) {
    guard try exists(path) else { return }
    try OwnerLock(beside: path, orRefuseWith: .busy).release()
  }

  /// Throws `notFound` where there is no store.
  package static func requireStore(at path: String) throws(StorageError) {
    guard try exists(path) else {
      throw StorageError(
        .notFound, "there is no store at \(path)", hint: "name its directory with --data")
    }
  }

  /// Examines a whole store: the files, the database and, with the key, all sealed data.
  ///
  /// Nothing is changed. Throws `notFound` where there is no store, `busy` where it is in use, and
  /// any error that prevents the examination, but not for faults of the store.
  package static func examine(
    path: String, keySource: KeySource, progress: ProgressOptions? = nil
  ) throws(StorageError) -> Examination {
    let owner = try own(path)
    defer { owner.release() }
    var inspector = try Inspector(path: path)
    try inspector.unlock(with: keySource, progress: progress)
    try inspector.inspectRows { _ in }
    return inspector.examination
  }

  /// The result of a salvage.
  package struct Salvage: Sendable, Equatable {
    package var examination: Examination
    /// The number of credentials in the new store.
    package var copied: Int
    /// The number of intact rows that were left out, because another row has the same name.
    package var leftOut: Int
  }

  /// Copies every authentic credential into a new store with the id and the key of the old one.
  ///
  /// The old store is not changed. Throws, without creating anything, as `examine` does; `conflict`
  /// if a store exists at the new path; and if the key is missing or no credential can be read.
  package static func salvage(
    path: String, keySource: KeySource, to new: Options
  ) throws(StorageError) -> Salvage {
    let owner = try own(path)
    defer { owner.release() }
    // The new path may also be the old store, which this process has locked.
    try refuseStore(at: new.path)
    var inspector = try Inspector(path: path)
    try inspector.unlock(with: keySource, progress: new.progress)
    if let error = inspector.examination.locked { throw error }
    guard let storeID = inspector.storeID else { throw .nothingToSalvage }

    try prepareDirectory(of: new.path)
    let newOwner = try OwnerLock(beside: new.path, orRefuseWith: .busy)
    defer { newOwner.release() }
    try refuseStore(at: new.path)
    var copied = 0
    var leftOut = 0
    try createStore(new, id: storeID) { database, keys, header throws(StorageError) in
      // For each copied credential, the number of the change that wrote it in the old store.
      var originals: [CredentialKey: UInt64] = [:]
      try inspector.inspectRows { row throws(StorageError) in
        // A damaged store may have several rows with the same key. Of two equally new rows, a load
        // returns the one that is read first here.
        if let copied = originals[row.metadata.key] {
          leftOut += 1
          guard row.sequence > copied else { return }
        }
        originals[row.metadata.key] = row.sequence
        // Two rows of a damaged store can have the same sequence.
        try database.copy(
          row, as: header.sequence + 1, under: keys, &header, nonces: new.nonces)
      }
      copied = Int(clamping: header.count)
      if copied == 0, inspector.examination.counted != 0 { throw .nothingToSalvage }
    }
    return Salvage(examination: inspector.examination, copied: copied, leftOut: leftOut)
  }

  /// Returns the lock that keeps every kistd from opening the store while it is held.
  static func own(_ path: String) throws(StorageError) -> OwnerLock {
    try requireStore(at: path)
    return try OwnerLock(beside: path, orRefuseWith: .busy)
  }

  /// The result of an examination of a whole store.
  package struct Examination: Sendable, Equatable {
    /// A fault of the store.
    package struct Fault: Sendable, Equatable {
      /// The part of the store that has the fault.
      package enum Part: String, Sendable {
        /// The files: those of the store, or one that must not be beside it.
        case files
        /// The data that SQLite maintains: pages, trees, the schema.
        case database
        /// A key slot.
        case slot
        /// The sealed data about the whole store.
        case header
        /// One credential, or several whose names are not known.
        case credential
        /// All credentials together.
        case credentials
        /// The age of the store according to its progress note.
        case progress
      }

      package var part: Part
      /// What is wrong, as a clause.
      package var message: String
      /// The key of the credential, where its name is authentic.
      package var key: CredentialKey?
      /// What to do, where this fault has special advice.
      package var hint: String?

      package init(
        part: Part, message: String, key: CredentialKey? = nil, hint: String? = nil
      ) {
        (self.part, self.message, self.key, self.hint) = (part, message, key, hint)
      }
    }

    /// The faults; empty for an undamaged store.
    package var faults: [Fault] = []
    /// Why the key is not available; sealed data was then not examined.
    package var locked: StorageError?
    /// The number of credentials according to the header; `nil` where it could not be read.
    package var counted: Int?
    /// The number of credentials found.
    package var found = 0
    /// The number of those with authentic metadata and an authentic secret.
    package var good = 0
    /// The numbers of the key slots whose kinds this version does not know.
    package var unknownSlots: [UInt32] = []
    /// The number of authentic credentials with fields of a later version of kist.
    package var extended = 0

    package init() {}

    /// Whether no credential is missing or damaged.
    package var isComplete: Bool { counted == good && found == good }

    mutating func note(_ part: Fault.Part, _ message: String, _ key: CredentialKey? = nil) {
      let fault = Fault(part: part, message: message, key: key)
      // SQLite reports the same fault for each item that it cannot read.
      if faults.last != fault { faults.append(fault) }
    }
  }
}

/// Throws `conflict` where there is a store.
func refuseStore(at path: String) throws(StorageError) {
  guard try exists(path) else { return }
  throw StorageError(
    .conflict, "there is a store at \(path) already; it was not changed",
    hint: "move it away, or name a directory that has none", outcome: .unchanged)
}

/// Returns the bytes as hexadecimal digits, two per byte.
func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

extension StorageError {
  fileprivate static let nothingToSalvage = corrupt(
    "nothing in the store can be read; no new store was made")
}
