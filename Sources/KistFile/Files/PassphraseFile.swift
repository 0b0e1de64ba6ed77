internal import KistCore

/// A file with a passphrase that only this user can read, such as a credential of systemd.
enum PassphraseFile {
  /// Reads the passphrase without one newline at its end; `nil` when there is no such file.
  ///
  /// Throws `denied` when others could have read it.
  static func read(_ path: String) throws(StorageError) -> Secret? {
    guard let file = try PrivateFile.open(path, "passphrase file") else { return nil }
    // One byte more than a passphrase with a newline may have, to detect one that is too long.
    let room = Limits.passphrase + Secret.longestNewline + 1
    let passphrase = try file.descriptor.secret(upTo: room, path: path).withoutNewline
    guard passphrase.count <= Limits.passphrase else {
      throw StorageError(
        .tooLarge, "the passphrase file \(path) has more than \(Limits.passphrase) bytes",
        hint: "name the file that has the passphrase, and nothing else")
    }
    return passphrase
  }
}
