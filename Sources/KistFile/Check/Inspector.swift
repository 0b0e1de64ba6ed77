internal import KistCore
internal import KistVault

/// Inspects a store that no other process has open, as far as it can, and records its faults.
struct Inspector {
  private(set) var examination = EncryptedFile.Examination()
  /// The id of the store, where it can be read.
  private(set) var storeID: [UInt8]?
  private(set) var slots: [KeySlot] = []
  private let path: String
  private var areSlotsWhole = false
  private var sealedHeader: [UInt8]?
  private(set) var keys: StoreKeys?
  private var header: Header?
  private(set) var database: Database?

  /// Inspects everything that is readable without the key.
  init(path: String) throws(StorageError) {
    self.path = path
    try inspect(.files) { _ throws(StorageError) in try FileHeader.check(path, settingMode: false) }
    // SQLite would wait for the other end of a FIFO.
    guard try isRegularFile(path) else { return }
    try inspect(.database) { inspector throws(StorageError) in
      let database = try Database(inspecting: path, hasLog: try exists(path + "-wal"))
      try inspector.inspectPages(of: database)
      guard try Schema.hasTables(in: database) else { return }
      inspector.database = database
      try inspector.inspectStoreRow(of: database)
    }
  }

  /// Calls the body, and records an error that describes a fault of this part of the store.
  private mutating func inspect(
    _ part: EncryptedFile.Examination.Fault.Part,
    _ body: (inout Inspector) throws(StorageError) -> Void
  ) throws(StorageError) {
    do throws(StorageError) { try body(&self) } catch  where error.code == .corrupt {
      examination.note(part, error.message)
    }
  }

  private mutating func inspectPages(of database: Database) throws(StorageError) {
    // The version in the log may differ from the one in the file.
    if examination.faults.isEmpty {
      try inspect(.database) { inspector throws(StorageError) in
        try database.checkVersion(of: inspector.path)
      }
    }
    guard try Schema.isExact(in: database) else {
      return examination.note(
        .database, "there are tables, views or triggers that kist does not make")
    }
    try inspect(.database) { inspector throws(StorageError) in
      for fault in try database.pageFaults() { inspector.examination.note(.database, fault) }
    }
  }

  private mutating func inspectStoreRow(of database: Database) throws(StorageError) {
    try inspect(.header) { inspector throws(StorageError) in
      let row = try database.storeRow()
      (inspector.storeID, inspector.sealedHeader) = (row.id, row.header)
    }
    guard let storeID else { return }
    try inspect(.slot) { inspector throws(StorageError) in
      inspector.slots = try database.slots(storeID: storeID)
      inspector.areSlotsWhole = true
    }
    // A damaged slot does not prevent the others from opening the store.
    if !areSlotsWhole { slots = (try? database.wholeSlots(storeID: storeID)) ?? [] }
    examination.unknownSlots = slots.filter { !$0.isKnown }.map(\.number)
  }

  /// Inspects the sealed data about the whole store, if the key is available.
  mutating func unlock(
    with keySource: EncryptedFile.KeySource, progress: EncryptedFile.ProgressOptions? = nil
  ) throws(StorageError) {
    guard let storeID, !slots.isEmpty else {
      examination.locked = .corrupt("no key can open what is left of the store")
      return
    }
    do throws(StorageError) {
      let master = try masterKey(from: keySource, slots, storeID: storeID)
      keys = try StoreKeys(master: master, storeID: storeID)
    } catch { examination.locked = error }
    guard let keys, let sealedHeader else { return }
    try inspect(.header) { inspector throws(StorageError) in
      inspector.header = try keys.openHeader(sealedHeader)
    }
    guard let header else { return }
    examination.counted = Int(clamping: header.count)
    if areSlotsWhole, header.slots != KeySlot.hash(of: slots, storeID: storeID) {
      examination.note(.slot, "the store's key slots were changed")
    }
    if let progress { inspectProgress(progress, keys, header) }
  }

  private mutating func inspectProgress(
    _ progress: EncryptedFile.ProgressOptions, _ keys: StoreKeys, _ header: Header
  ) {
    do throws(StorageError) {
      _ = try ProgressFile(progress, store: path, keys: keys).check(header)
    } catch {
      guard error.code == .corrupt else { return progress.report(error) }
      examination.faults.append(.init(part: .progress, message: error.message, hint: error.hint))
    }
  }

  /// Inspects every reachable row, and calls the body with the authentic ones.
  mutating func inspectRows(
    _ keep: (OpenedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard let database else { return }
    var rows = RowInspection(keys: keys, header)
    try inspect(.database) { _ throws(StorageError) in
      try database.eachReachableRow { row throws(StorageError) in try rows.inspect(row, keep) }
      rows.couldReachAll = true
    }
    rows.conclude(&examination, header)
  }
}

/// Collects the results of the inspection of rows.
struct RowInspection {
  private let keys: StoreKeys?
  /// The number of the last change, where it is known.
  private let lastSequence: UInt64
  private var seen: Set<Mark> = []
  private var tags: Set<RowTag> = []
  private var sequences: Set<UInt64> = []
  private var tally: RowTally
  private var found = 0
  private var good = 0
  private var extended = 0
  private var unnamed = 0
  private var unnamable = 0
  private var isOutOfOrder = false
  private var named: [(CredentialKey, String)] = []
  /// Whether all rows could be read, so that none is on a damaged page.
  var couldReachAll = false

  /// Identifies a row, however it was reached.
  private struct Mark: Hashable {
    let address: Int64
    let identity: RowIdentity
  }

  init(keys: StoreKeys?, _ header: Header?) {
    self.keys = keys
    tally = RowTally(keys)
    lastSequence = header?.sequence ?? Header.maximumSequence
  }

  /// Inspects a row, which may come twice, because it can be reached in two ways.
  mutating func inspect(
    _ row: ReachedRow, _ keep: (OpenedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard let identity = row.identity else {
      found += 1
      unnamed += 1
      return
    }
    guard seen.insert(Mark(address: row.address, identity: identity)).inserted else { return }
    found += 1
    let sealedSecret = row.secret ?? []
    let isFound = tally.add(
      row.metadata.span, sealedSecret.span, as: identity, address: row.address,
      expectsOrder: row.isInOrder)
    if !row.isPlaced || !isFound { isOutOfOrder = true }
    guard let keys else { return }
    let metadata: Metadata
    do throws(StorageError) {
      metadata = try keys.openMetadata(row.metadata.span, as: identity)
    } catch { return noteUnreadable(row, identity, keys, error) }
    guard row.secret != nil else {
      return named.append((metadata.key, "its secret is on a damaged page"))
    }
    let opened: OpenedRow
    do throws(StorageError) {
      opened = try keys.openRow(sealedSecret.span, of: metadata, as: identity)
    } catch {
      let fault =
        error == .beyondLimits ? "is longer than kist allows" : "fails authentication"
      return named.append((metadata.key, "its secret \(fault)"))
    }
    if identity.sequence == 0 || identity.sequence > lastSequence {
      named.append((metadata.key, "its change number is invalid"))
    } else if !sequences.insert(identity.sequence).inserted {
      named.append((metadata.key, "another credential has the same change number"))
    }
    if !tags.insert(identity.tag).inserted { named.append((metadata.key, "it is stored twice")) }
    good += 1
    if metadata.fields != nil || opened.secretFields != nil { extended += 1 }
    try keep(opened)
  }

  /// Records a row whose metadata is not authentic, or not as kist saves it.
  private mutating func noteUnreadable(
    _ row: ReachedRow, _ identity: RowIdentity, _ keys: StoreKeys, _ error: StorageError
  ) {
    if let key = try? keys.openCredentialKey(row.metadata.span, as: identity) {
      guard key.isWithinLimits else { return unnamable += 1 }
      named.append(
        (
          key,
          error == .anotherCredential
            ? "it is stored under the name of another credential"
            : "its label, attributes or times are invalid"
        ))
    } else {
      unnamed += 1
    }
  }

  /// Records the faults that only all rows together show.
  func conclude(_ examination: inout EncryptedFile.Examination, _ header: Header?) {
    (examination.found, examination.good, examination.extended) = (found, good, extended)
    for (key, message) in named { examination.note(.credential, message, key) }
    if unnamed > 0 {
      examination.note(
        .credential,
        "\(unnamed) credential\(unnamed == 1 ? " fails" : "s fail") authentication, even the name")
    }
    if unnamable > 0 {
      examination.note(
        .credential,
        "\(unnamable) credential\(unnamable == 1 ? " has a name" : "s have names") that kist does "
          + "not allow")
    }
    if isOutOfOrder {
      examination.note(.credentials, "credentials are stored under wrong addresses")
    }
    guard let header, !tally.matches(header) || UInt64(found) != header.count else { return }
    examination.note(
      .credentials,
      UInt64(found) == header.count
        ? "credentials were replaced by earlier ones, or changed"
        : "there should be \(header.count) credentials, but there are \(found)"
          + (couldReachAll ? "" : " that can be reached"))
  }
}
