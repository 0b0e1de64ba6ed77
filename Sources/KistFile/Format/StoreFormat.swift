private import KistSodium

/// The fixed values of the file format, which docs/file-format.md specifies.
enum StoreFormat {
  /// The value of `user_version`.
  static let version: UInt32 = 1
  /// The value of `application_id`: `kist`.
  static let applicationID: UInt32 = 0x6B69_7374
  /// The size of a store's id in bytes.
  static let storeIDSize = 16
  /// The maximum bytes of a row and of each of its values: 640 KiB.
  ///
  /// The largest row that kist writes takes about 612 KiB.
  static let longestRow = 640 << 10

  /// The kind of sealed data, so that one kind cannot replace another.
  enum Part: UInt32 {
    case slot = 1
    case header = 2
    case metadata = 3
    case secret = 4
    /// The names in a request, in a log beside the store.
    case names = 5
    /// The chained lines of a log beside the store.
    case chain = 6
    /// The progress note, in a file outside the store.
    case progress = 7
  }

  /// Returns the prefix of all associated data.
  static func associatedData(of part: Part, storeID: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(80)
    bytes += "kist".utf8
    bytes.append(littleEndian: version)
    bytes.append(littleEndian: part.rawValue)
    bytes += storeID
    return bytes
  }
}
