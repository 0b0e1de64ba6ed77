internal import Glibc
internal import KistCore
internal import KistSystem
private import Synchronization

/// The database of a store and its log, as their paths name them at one moment.
///
/// A class, so that a change takes only a reference.
final class StoreFiles: Sendable {
  private let path: String
  private let logPath: String
  private let folder: FileIdentity?
  private let database: FileIdentity?
  private let log: FileIdentity?
  private let logSize: Int

  init(_ path: String) throws(StorageError) {
    self.path = path
    logPath = path + "-wal"
    folder = fileStatus(of: directory(of: path)).map(FileIdentity.init)
    database = try existingStatus(ofLink: path).map(FileIdentity.init)
    let logStatus = try existingStatus(ofLink: logPath)
    log = logStatus.map(FileIdentity.init)
    logSize = Int(logStatus?.st_size ?? 0)
  }

  var hasLog: Bool { log != nil }

  func hasDatabase(of other: StoreFiles) -> Bool { database == other.database }

  /// The last write to the database; `nil` if the path does not lead to it.
  var lastWrite: LastWrite? {
    guard let now = fileStatus(ofLink: path), database == FileIdentity(now) else { return nil }
    return LastWrite(now)
  }

  /// Throws where there is no database.
  func checkDatabase() throws(StorageError) {
    if database == nil { throw .fileInPlace(of: directory(of: path)) ?? .storeIsGone }
  }

  /// Throws where a file or another directory is in the place of the directory of these files.
  ///
  /// kistd holds no lock in that directory, and may have no access to it, because it confined itself
  /// to the former one.
  func checkDirectory() throws(StorageError) {
    if let error = StorageError.fileInPlace(of: directory(of: path)) { throw error }
    guard let now = fileStatus(of: directory(of: path)) else { return }
    guard folder == FileIdentity(now) else { throw .directoryReplaced(path) }
  }

  /// Throws where the paths do not lead to these files, in which a change would be lost.
  ///
  /// Returns the time of the last write to the database.
  ///
  /// - Parameter logSize: the minimum size of the log; `nil` for its size when these files were found.
  @discardableResult
  func checkPlaces(logSize: Int?) throws(StorageError) -> LastWrite {
    guard let present = try existingStatus(ofLink: path), database == FileIdentity(present),
      let log,
      let now = try existingStatus(ofLink: logPath), FileIdentity(now) == log
    else {
      try checkDirectory()
      throw .filesReplaced(path)
    }
    guard now.st_size >= logSize ?? self.logSize else { throw .logShortened(path) }
    return LastWrite(present)
  }
}

/// The size of a file, and the time of the last write to it.
struct LastWrite: Equatable, Sendable {
  private let size: off_t
  private let seconds: Int
  private let nanoseconds: Int

  init(_ status: stat) {
    size = status.st_size
    (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
  }
}

/// The writes of this process to an open database, by which those of other programs are recognised.
final class OwnWrites: Sendable {
  private let path: String
  private let noted = Mutex<LastWrite?>(nil)

  init(path: String) { self.path = path }

  /// The last write that was noted; `nil` if it could not be read.
  var last: LastWrite? { noted.withLock(\.self) }

  /// Notes that this process wrote to the database, or opened it.
  func note() {
    let write = fileStatus(ofLink: path).map(LastWrite.init)
    noted.withLock { $0 = write }
  }

  /// Throws where another program made a write after the last one that was noted.
  func check(_ write: LastWrite, after last: LastWrite?) throws(StorageError) {
    guard last == nil || write == last else { throw .fileChanged(path) }
  }
}

/// The number of a file, which its name and its content do not change.
private struct FileIdentity: Equatable, Sendable {
  private let device: dev_t
  private let inode: ino_t

  init(_ status: stat) { (device, inode) = (status.st_dev, status.st_ino) }
}
