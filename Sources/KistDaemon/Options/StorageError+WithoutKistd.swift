internal import KistCore

extension StorageError {
  /// The error for a command without a running kistd that could unlock the store.
  var withoutKistd: StorageError {
    guard code == .locked else { return self }
    return .locked(
      message,
      hint:
        "name its key file with --key-file, if it has one, or give its passphrase with --passphrase-fd"
    )
  }
}
