internal import KistCore
internal import KistVault

/// Inspects a store that no other process has open, records its faults and continues as far as it
/// can.
struct Inspector {
  private(set) var examination = EncryptedFile.Examination()
  /// The id of the store, where it can be read.
  private(set) var storeID: [UInt8]?
  private(set) var slots: [KeySlot] = []
  private let path: String
  private var areSlotsWhole = true
  private var sealedHeader: [UInt8]?
  private(set) var keys: StoreKeys?
  private var header: Header?
  private(set) var database: Database?

  /// Inspects everything that is readable without the key.
  init(path: String) throws(StorageError) {
    self.path = path
    do throws(StorageError) { try FileHeader.check(path, settingMode: false) } catch {
      try examination.note(.files, error)
    }
    // SQLite would wait for the other end of a FIFO.
    guard try isRegularFile(path) else { return }
    do throws(StorageError) {
      let database = try Database(inspecting: path, hasLog: try exists(path + "-wal"))
      if examination.faults.isEmpty { try inspectVersion(of: database, at: path) }
      if try !Schema.isExact(in: database) {
        examination.note(.database, "there are tables, views or triggers that kist does not make")
      } else {
        try inspectPages(of: database)
      }
      guard try Schema.hasTables(in: database) else { return }
      self.database = database
      try inspectStoreRow(of: database)
    } catch { try examination.note(.database, error) }
  }

  /// Checks the version in the log, where the version in the file is right.
  private mutating func inspectVersion(
    of database: Database, at path: String
  ) throws(StorageError) {
    do throws(StorageError) { try database.checkVersion(of: path) } catch {
      try examination.note(.database, error)
    }
  }

  /// Records the faults that SQLite finds.
  private mutating func inspectPages(of database: Database) throws(StorageError) {
    do throws(StorageError) {
      for message in try database.pageFaults() { examination.note(.database, message) }
    } catch { try examination.note(.database, error) }
  }

  private mutating func inspectStoreRow(of database: Database) throws(StorageError) {
    do throws(StorageError) {
      let row = try database.storeRow()
      (storeID, sealedHeader) = (row.id, row.header)
    } catch { return try examination.note(.header, error) }
    guard let storeID else { return }
    do throws(StorageError) {
      slots = try database.slots(storeID: storeID)
    } catch {
      areSlotsWhole = false
      try examination.note(.slot, error)
      // A damaged slot does not prevent the others from opening the store.
      slots = (try? database.wholeSlots(storeID: storeID)) ?? []
    }
    examination.unknownSlots = slots.filter { !$0.isKnown }.map(\.number)
  }

  /// Inspects the sealed data about the whole store, if the key is available.
  ///
  /// - Parameter progress: the options of the progress note, which records how recent the store
  ///   was.
  mutating func unlock(
    with keySource: EncryptedFile.KeySource, progress: EncryptedFile.ProgressOptions? = nil
  ) throws(StorageError) {
    guard let storeID, !slots.isEmpty else {
      examination.locked = .corrupt("no key can open what is left of the store")
      return
    }
    do throws(StorageError) {
      keys = try StoreKeys(
        master: try masterKey(from: keySource, slots, storeID: storeID), storeID: storeID)
    } catch {
      examination.locked = error
      return
    }
    guard let keys, let sealedHeader else { return }
    do throws(StorageError) {
      let header = try keys.openHeader(sealedHeader)
      self.header = header
      examination.counted = Int(clamping: header.count)
      if areSlotsWhole, header.slots != KeySlot.hash(of: slots, storeID: storeID) {
        examination.note(.slot, "the store's key slots were changed")
      }
      if let progress { inspectProgress(progress, keys, header) }
    } catch { try examination.note(.header, error) }
  }

  private mutating func inspectProgress(
    _ progress: EncryptedFile.ProgressOptions, _ keys: StoreKeys, _ header: Header
  ) {
    do throws(StorageError) {
      _ = try ProgressFile(progress, store: path, keys: keys).check(header)
    } catch {
      guard error.code == .corrupt else { return progress.report(error) }
      examination.faults.append(
        .init(part: .progress, message: error.message, hint: error.hint))
    }
  }

  /// Inspects every reachable row, and calls the body with the authentic ones.
  mutating func inspectRows(
    _ keep: (OpenedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard let database else { return }
    var rows = RowInspection(keys: keys, header)
    do throws(StorageError) {
      try database.eachReachableRow { row throws(StorageError) in try rows.inspect(row, keep) }
    } catch {
      rows.couldNotReachAll = true
      try examination.note(.database, error)
    }
    rows.conclude(&examination, header)
  }
}
