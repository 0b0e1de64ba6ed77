private import KistSodium

/// The fixed values of the file format, which docs/file-format.md specifies.
enum StoreFormat {
  /// What `user_version` says.
  static let version: UInt32 = 1
  /// What `application_id` says: `kist`.
  static let applicationID: UInt32 = 0x6B69_7374
  /// Bytes of a store's id.
  static let storeIDSize = 16

  /// What is sealed, so that one thing cannot stand in for another.
  enum Part: UInt32 {
    case slot = 1
    case header = 2
    case metadata = 3
    case secret = 4
    /// What a request named, in a log beside the store.
    case names = 5
  }

  /// The beginning of all associated data.
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
