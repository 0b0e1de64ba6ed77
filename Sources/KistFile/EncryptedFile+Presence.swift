package import KistCore

extension EncryptedFile {
  /// What stands where a store would be, as far as that tells without its key.
  package enum Presence: Sendable, Equatable {
    /// Nothing.
    case absent
    /// A store of this id.
    case store(id: String, hasCredentials: Bool)
    /// Something that is no store, is damaged, or is in use by another process.
    case unreadable(StorageError)
  }

  /// Looks at a path: where there is no store none is made, and what is in one stays.
  ///
  /// It is opened for that as for use, so that a log that a crash left is read as a part of it.
  package static func presence(at path: String) -> Presence {
    do throws(StorageError) {
      guard try exists(path) else { return .absent }
      let owner = try OwnerLock(beside: path)
      defer { owner.release() }
      try FileHeader.check(path)
      let connection = Connection(
        path: path, readonly: false, cacheKibibytes: 64, keepsLog: try isFilled(path + "-wal"))
      defer { connection.close(mergingLog: false) }
      try connection.open()
      return try connection.use { database throws(StorageError) in
        try database.checkVersion(of: path)
        try Schema.check(database)
        return .store(
          id: hexadecimal(try database.storeRow().id), hasCredentials: try database.hasRows())
      }
    } catch { return .unreadable(error) }
  }
}

/// Refuses to make a store where there is one.
func refuseStore(at path: String) throws(StorageError) {
  guard try exists(path) else { return }
  throw StorageError(
    .conflict, "there is a store at \(path) already, and it was left as it is",
    hint: "move it away, or name a directory that has none", outcome: .unchanged)
}

/// Two digits a byte.
func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
