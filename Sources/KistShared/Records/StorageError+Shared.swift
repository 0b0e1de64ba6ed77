package import KistCore
internal import KistVault

/// The errors of records that fail verification.
extension StorageError {
  /// A program without the key changed a record, or a record does not follow from the one before.
  package static func untrusted(_ message: String) -> StorageError {
    StorageError(
      .corrupt, message,
      hint:
        "nothing was changed, and any copy on this machine is intact; find out who can write to the "
        + "cluster, and compare the status of the other machines")
  }

  /// The cluster answered with an earlier state than this machine has seen, or with another history.
  package static func rolledBack(_ message: String) -> StorageError {
    StorageError(
      .corrupt, message,
      hint:
        "check that the adapter serves this vault, for example with `--vault` of kist-etcd; otherwise the "
        + "cluster was restored from an old snapshot, or shows two histories; nothing was changed, and any "
        + "copy on this machine is intact: back it up with `kist backup`; `man kist-troubleshooting` "
        + "(troubleshooting.md) shows how an admin puts the vault back")
  }

  /// A later version of kist wrote the record.
  static func newerRecord(_ record: String, _ version: UInt32) -> StorageError {
    StorageError(
      .unavailable,
      "the \(record) is of format \(version); this kist reads up to \(SharedFormat.version)",
      hint:
        "use a newer kist; if there is none, the record is damaged; nothing was changed, and any copy "
        + "on this machine is intact")
  }

  /// The roster does not list this machine.
  package static let notMember = StorageError(
    .denied, "this machine is not a member of the vault",
    hint:
      "ask an admin of the vault to add this machine; if it was removed and added again, "
      + "`kistd vault join` says what to do; nothing was changed", outcome: .unchanged)
}

/// Runs the decoding of a record, and converts errors about the encrypted file, which do not apply
/// to a cluster.
func decoding<Value>(
  _ record: String, _ body: () throws(StorageError) -> Value
) throws(StorageError) -> Value {
  do throws(StorageError) { return try body() } catch {
    guard error == .malformed else { throw error }
    throw .untrusted("the \(record) does not follow the format")
  }
}
