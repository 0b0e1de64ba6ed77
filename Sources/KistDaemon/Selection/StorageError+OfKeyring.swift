internal import KistCore

extension StorageError {
  /// The error of a keyring, with what only the daemon knows: whether credentials are kept there, and
  /// that there is another storage.
  func ofKeyring(isPinned: Bool) -> StorageError {
    var error = self
    switch code {
    case .unavailable where isPinned:
      error.hint =
        "credentials are kept in the keyring, and can be used and moved only where it is reached: "
        + "log in to the desktop session, or start the keyring's provider; --data names another "
        + "store"
    case .unavailable where !isPinned, .locked where !isPinned:
      error.hint =
        (hint.map { $0 + "; " } ?? "")
        + "to do without the keyring, start `kistd --storage encrypted-file`"
    default: break
    }
    return error
  }
}
