package import KistCore

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

  /// Inspects a path without changing anything, also not the mode and the log of a store.
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

/// Throws `conflict` where there is a store.
func refuseStore(at path: String) throws(StorageError) {
  guard try exists(path) else { return }
  throw StorageError(
    .conflict, "there is a store at \(path) already, and it was left as it is",
    hint: "move it away, or name a directory that has none", outcome: .unchanged)
}

/// Returns the bytes as hexadecimal digits, two per byte.
func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Returns the bytes for digits that `hexadecimal` returned; `nil` for any other text.
func bytes(ofHexadecimal digits: Substring) -> [UInt8]? {
  var rest = digits
  var bytes: [UInt8] = []
  while !rest.isEmpty {
    guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
    bytes.append(byte)
    rest = rest.dropFirst(2)
  }
  return hexadecimal(bytes) == digits ? bytes : nil
}
