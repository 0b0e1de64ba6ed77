internal import KistCore

/// The errors of a keyring, each worded once.
extension StorageError {
  static var noBus: StorageError {
    StorageError(
      .unavailable, "there is no session bus, and so no keyring",
      hint: "log in to a desktop session")
  }

  static var unreachableBus: StorageError {
    StorageError(
      .unavailable, "nothing answers at the address of the session bus",
      hint: "see whether DBUS_SESSION_BUS_ADDRESS names a bus that runs")
  }

  static var wrongBusAddress: StorageError {
    StorageError(
      .unavailable, "the address of the session bus is not one that D-Bus can read",
      hint: "correct DBUS_SESSION_BUS_ADDRESS, such as unix:path=/run/user/1000/bus")
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

  /// An item of ours whose bookkeeping cannot be read; it is left as it is.
  static func damagedBookkeeping(_ path: ObjectPath, _ problem: String) -> StorageError {
    damagedItem(
      path, "its bookkeeping \(problem)",
      hint: "delete the item with the keyring's own program, and save the credential again")
  }

  /// An item of ours whose value is no secret; a save replaces it, as it does every value unread.
  static func damagedValue(_ path: ObjectPath, _ problem: String) -> StorageError {
    damagedItem(
      path, "its value \(problem)",
      hint: "save the credential again (`kist save`), or delete it (`kist delete`)")
  }

  /// The end of the path is what other programs tell an item by, and says nothing of what is in it.
  private static func damagedItem(
    _ path: ObjectPath, _ problem: String, hint: String
  ) -> StorageError {
    StorageError(
      .corrupt,
      "item \(path.rawValue.split(separator: "/").last ?? "/") of the keyring is damaged: "
        + "\(problem); it was left as it is",
      hint: "\(hint); what is whole is still loaded (`kist load`)")
  }

  /// A keyring that is not to be trusted with a credential.
  static func notKept(_ message: String) -> StorageError {
    StorageError(
      .unavailable, message, hint: "use another provider")
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
    case .unreachableBus: self = .unreachableBus
    case .wrongBusAddress: self = .wrongBusAddress
    case .noOwner:
      self.init(
        .unavailable, "no program provides a keyring on the session bus",
        hint: "start one, such as gnome-keyring or KeePassXC")
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
        hint: "use another provider")
    case .refused(let name):
      self.init(.unavailable, "the keyring's provider refused (\(name))", hint: "try again")
    }
  }
}
