internal import Glibc
internal import KistCore
internal import KistSystem

/// The database of a store and its log, as their paths name them at one moment.
struct StoreFiles {
  private let database: stat?
  private let log: stat?

  init(_ path: String, log: String) throws(StorageError) {
    database = try existingStatus(ofLink: path)
    self.log = try existingStatus(ofLink: log)
  }

  var hasDatabase: Bool { database != nil }

  func hasDatabase(of other: StoreFiles) -> Bool { isSame(database, other.database) }

  func isDatabase(at path: String) throws(StorageError) -> Bool {
    isSame(database, try existingStatus(ofLink: path))
  }

  func isLog(at path: String) throws(StorageError) -> Bool {
    isSame(log, try existingStatus(ofLink: path))
  }

  /// Whether the database is the same, and no other log is in the place of its log.
  func haveNoOtherLog(than other: StoreFiles) -> Bool {
    isSame(database, other.database) && (log == nil || isSame(log, other.log))
  }
}

private func isSame(_ one: stat?, _ other: stat?) -> Bool {
  guard let one, let other else { return one == nil && other == nil }
  return one.isSameFile(as: other)
}
