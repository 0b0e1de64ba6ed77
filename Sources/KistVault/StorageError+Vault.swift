package import KistCore

/// The errors of damaged and of forged stores.
extension StorageError {
  /// The stored data is damaged, or was changed without the key.
  package static func corrupt(_ message: String) -> StorageError {
    StorageError(
      .corrupt, message,
      hint:
        "nothing was overwritten; `kistd fsck`, with the same --data if one was given, shows the damage; restore the store from a backup; "
        + "`man kist-troubleshooting` (troubleshooting.md) shows how to start with an empty store")
  }

  /// A key slot is damaged.
  package static let damagedSlot = corrupt("a key slot is damaged")

  /// Some rows are damaged or were changed.
  ///
  /// The other rows can be loaded.
  package static func damagedRows(_ message: String) -> StorageError {
    StorageError(
      .corrupt, message,
      hint:
        "intact credentials can still be loaded (`kist load`), and nothing was overwritten; "
        + "`kistd fsck` shows the damage, and `--salvage DIRECTORY` copies intact credentials; or "
        + "restore the store from a backup")
  }

  /// The sum or the number of the rows differs from the header.
  package static let wrongRows = damagedRows(
    "credentials in the store were removed, changed or replaced by earlier copies")

  /// A row is at a wrong address, where no lookup finds it.
  package static let wrongAddress = damagedRows(
    "credentials in the store are stored under wrong addresses")

  /// The row of one credential is stored under the name of another one.
  package static let anotherCredential = damagedRows(
    "a credential in the store is stored under the name of another one")

  /// Two rows are of one credential, or of one change.
  package static let repeatedRow = damagedRows(
    "two credentials in the store have the same name or the same change number")

  /// The sealed data was changed, or belongs to another row.
  static let unauthenticRow = damagedRows("a stored credential fails authentication")

  /// The credential is authentic, but exceeds a limit that every save checks.
  package static let beyondLimits = damagedRows(
    "a stored credential exceeds the limits of kist")

  /// The data is authentic, but cannot be decoded.
  package static let malformed = corrupt("stored data does not follow the format")
}
