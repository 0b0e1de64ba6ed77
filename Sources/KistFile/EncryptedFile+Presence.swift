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

  /// Looks at a path, and changes nothing: where there is no store none is made, and one that is there
  /// keeps its mode and its log, which is read as a part of it.
  package static func presence(at path: String) -> Presence {
    do throws(StorageError) {
      guard try exists(path) else { return .absent }
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

  /// Throws `notFound` where there is no store.
  package static func requireStore(at path: String) throws(StorageError) {
    guard try exists(path) else {
      throw StorageError(
        .notFound, "there is no store at \(path)", hint: "name its directory with --data")
    }
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
