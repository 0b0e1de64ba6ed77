internal import Glibc
internal import KistCore
internal import KistSystem

/// The database of a store and its log, as their paths name them at one moment.
///
/// A class, because each change takes a reference, and a copy has three times 144 bytes.
final class StoreFiles: Sendable {
  private let path: String
  private let logPath: String
  private let folder: stat?
  private let database: stat?
  private let log: stat?

  init(_ path: String) throws(StorageError) {
    self.path = path
    logPath = path + "-wal"
    folder = fileStatus(of: directory(of: path))
    database = try existingStatus(ofLink: path)
    log = try existingStatus(ofLink: logPath)
  }

  var hasDatabase: Bool { database != nil }
  var hasLog: Bool { log != nil }

  func hasDatabase(of other: StoreFiles) -> Bool { isSame(database, other.database) }

  /// Throws where another directory is in the place of the directory of these files.
  ///
  /// kistd holds no lock in that directory, and may have no access to it, because it confined itself
  /// to the former one.
  func checkDirectory() throws(StorageError) {
    guard let now = fileStatus(of: directory(of: path)) else { return }
    guard isSame(folder, now) else { throw .directoryReplaced(path) }
  }

  /// Throws where the paths do not lead to these files, in which a change would be lost.
  ///
  /// - Parameter logSize: the minimum size of the log; `nil` for its size when these files were found.
  func checkPlaces(logSize: Int?) throws(StorageError) {
    guard isSame(database, try existingStatus(ofLink: path)), let log,
      let now = try existingStatus(ofLink: logPath), now.isSameFile(as: log)
    else {
      try checkDirectory()
      throw .filesReplaced(path)
    }
    guard now.st_size >= logSize ?? Int(log.st_size) else { throw .logShortened(path) }
  }
}

private func isSame(_ one: stat?, _ other: stat?) -> Bool {
  guard let one, let other else { return one == nil && other == nil }
  return one.isSameFile(as: other)
}
