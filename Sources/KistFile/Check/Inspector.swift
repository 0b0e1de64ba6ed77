internal import KistCore

/// Goes through a store that nobody else has open, notes what is wrong with it, and goes on as far as
/// it can.
struct Inspector {
  private(set) var examination = EncryptedFile.Examination()
  /// Which store it is, where that can be told.
  private(set) var storeID: [UInt8]?
  private(set) var slots: [KeySlot] = []
  private var areSlotsWhole = true
  private var sealedHeader: [UInt8]?
  private(set) var keys: StoreKeys?
  private var header: Header?
  private(set) var database: Database?

  /// Looks at what can be seen without the key.
  init(path: String) throws(StorageError) {
    do throws(StorageError) { try FileHeader.check(path, settingMode: false) } catch {
      try examination.note(.files, error)
    }
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

  /// Looks at what the log says of it, where the file says what it should.
  private mutating func inspectVersion(
    of database: Database, at path: String
  ) throws(StorageError) {
    do throws(StorageError) { try database.checkVersion(of: path) } catch {
      try examination.note(.database, error)
    }
  }

  /// Asks SQLite what it finds wrong.
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
      // One that is damaged does not keep the others from opening the store.
      slots = (try? database.wholeSlots(storeID: storeID)) ?? []
    }
  }

  /// Looks at what is sealed of the whole store, if the key is to be had.
  mutating func unlock(with keySource: EncryptedFile.KeySource) throws(StorageError) {
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
    } catch { try examination.note(.header, error) }
  }

  /// Looks at every row that can be reached, and lends those that are authentic.
  mutating func inspectRows(
    _ keep: (OpenedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard let database else { return }
    var rows = RowInspection(keys: keys)
    do throws(StorageError) {
      try database.eachReachableRow { row throws(StorageError) in try rows.inspect(row, keep) }
    } catch {
      rows.couldNotReachAll = true
      try examination.note(.database, error)
    }
    rows.conclude(&examination, header)
  }
}
