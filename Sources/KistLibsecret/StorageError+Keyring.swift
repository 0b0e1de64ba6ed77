internal import KistCore

/// The errors of a keyring, each worded once.
extension StorageError {
  static var noBus: StorageError {
    StorageError(
      .unavailable, "there is no session bus, and so no keyring",
      hint: "log in to a desktop session, or keep credentials in the encrypted file")
  }

  static var closed: StorageError { StorageError(.unavailable, "the storage is closed") }

  static var noDefaultKeyring: StorageError {
    StorageError(
      .unavailable, "the keyring's provider has no default keyring",
      hint: "make one, with seahorse or in the settings of the provider, and make it the default")
  }

  static var lockedKeyring: StorageError {
    .locked("the keyring is locked")
  }

  /// A prompt that unlocks the keyring stays when nobody waits for it any more.
  static func unansweredPrompt(within deadline: Duration) -> StorageError {
    StorageError(
      .timeout, "the keyring's prompt was not answered within \(deadline)",
      hint: "it stays open: answer it, or ask again (`kist unlock`), which waits for the same one")
  }

  /// Items went away each time before they were read.
  static var changingKeyring: StorageError {
    StorageError(
      .busy, "items of the keyring went away each time before they were read",
      hint: "try again; if it stays so, start the keyring's provider anew")
  }

  /// An item of ours that cannot be read; it is left as it is.
  ///
  /// The end of its path is what other programs tell it by, and says nothing of what is in it.
  static func damagedItem(_ path: ObjectPath, _ problem: String) -> StorageError {
    StorageError(
      .corrupt,
      "item \(path.rawValue.split(separator: "/").last ?? "/") of the keyring is damaged: "
        + "\(problem); it was left as it is",
      hint: "what is whole is still loaded (`kist load`); delete the item with the keyring's own "
        + "program, and save the credential again")
  }

  /// A keyring that is not to be trusted with a credential.
  static func notKept(_ message: String) -> StorageError {
    StorageError(
      .unavailable, message,
      hint: "use another provider, or keep credentials in the encrypted file")
  }

  /// What went wrong on the bus, in the words of a user.
  init(_ error: BusError, deadline: Duration) {
    switch error {
    case .timeout:
      self.init(
        .timeout, "the keyring did not answer within \(deadline)",
        hint: "see whether its provider hangs or waits for you, and try again")
    case .disconnected:
      self.init(
        .unavailable, "the keyring's provider, or the session bus, went away",
        hint: "try again once it is running")
    case .noOwner:
      self.init(
        .unavailable, "no program provides a keyring on the session bus",
        hint:
          "start one, such as gnome-keyring or KeePassXC, or keep credentials in the encrypted file"
      )
    case .startFailed:
      self.init(
        .unavailable, "the keyring's provider could not be started",
        hint: "the journal of the session bus says why")
    case .noSuchObject:
      self.init(.unavailable, "the keyring's provider has no such keyring", hint: "try again")
    case .locked: self = .lockedKeyring
    case .dismissed:
      self.init(
        .denied, "the keyring's provider asked whether it may, and was told that it may not",
        hint: "answer its prompt, or have its settings ask less")
    case .malformed:
      self.init(
        .unavailable,
        "the keyring's provider does not answer as the Secret Service specification says",
        hint: "use another provider, or keep credentials in the encrypted file")
    case .refused(let name):
      self.init(.unavailable, "the keyring's provider refused (\(name))", hint: "try again")
    }
  }
}
