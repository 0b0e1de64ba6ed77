internal import KistCore

extension StorageError {
  /// Returns the error of a keyring with advice that only the daemon can give.
  ///
  /// The daemon knows whether credentials are kept in the keyring, and that there is another
  /// storage.
  func ofKeyring(isPinned: Bool) -> StorageError {
    switch code {
    case .unavailable where isPinned:
      adding(
        "credentials are kept in the keyring, and can be used and moved only where it is reached; "
          + "`kistd --data DIRECTORY` has another store")
    case .unavailable where !isPinned, .locked where !isPinned:
      adding(
        "to do without the keyring, start `kistd --storage encrypted-file` once no other kistd runs"
      )
    default: self
    }
  }

  private func adding(_ advice: String) -> StorageError {
    var error = self
    error.hint = (hint.map { $0 + "; " } ?? "") + advice
    return error
  }
}
