internal import KistCore

extension Connections {
  /// Throws where the paths do not lead to the open files, or where another program wrote to the
  /// database; for use within a change.
  func checkPlaces(of files: StoreFiles, logSize: Int?) throws(StorageError) {
    try ownWrites.check(files.checkPlaces(logSize: logSize), after: ownWrites.last)
  }

  /// Throws where another program wrote to the open database.
  ///
  /// Not where other files are in its place: the credentials of the open ones can still be read.
  func checkOwnWrites() throws(StorageError) {
    let (turn, last) = (self.turn, ownWrites.last)
    guard let write = try openFiles().lastWrite else { return }
    // A change between these lines may have merged the log into the database.
    if turn.isMultiple(of: 2), turn == self.turn { try ownWrites.check(write, after: last) }
  }
}
