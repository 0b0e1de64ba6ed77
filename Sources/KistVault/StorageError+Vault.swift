package import KistCore

/// The errors of damaged and of forged stores.
extension StorageError {
  /// The stored data is damaged, or was changed without the key.
  package static func corrupt(_ message: String) -> StorageError {
    StorageError(
      .corrupt, message,
      hint:
        "nothing was overwritten; `kistd fsck` says what is wrong; restore the store from a backup, "
        + "or move it away to start with an empty store")
  }

  /// A key slot is damaged.
  package static let damagedSlot = corrupt("a key slot is damaged")

  /// Some rows are damaged or were changed; the others can be loaded.
  package static func damagedRows(_ message: String) -> StorageError {
    StorageError(
      .corrupt, message,
      hint:
        "what is whole is still loaded (`kist load`) and nothing was overwritten; `kistd fsck` says "
        + "what is wrong, and with `--salvage DIRECTORY` saves what is whole; or restore the store "
        + "from a backup")
  }

  /// The rows are not those that the header counts.
  package static let wrongRows = damagedRows(
    "credentials in the store were removed, put back or changed")

  /// A lookup does not find the row.
  package static let misplacedRow = damagedRows(
    "credentials in the store are where no lookup finds them")

  /// The sealed data was changed, or belongs to another row.
  static let unauthenticRow = damagedRows("a stored credential fails authentication")

  /// The data is authentic, but no save of kist wrote it.
  package static let beyondLimits = damagedRows(
    "a stored credential is beyond the limits of what kist saves")

  /// The data is authentic, but cannot be decoded.
  static let malformed = corrupt("what is stored does not follow the format")
}
