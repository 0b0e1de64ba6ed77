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
    var bytes = WipedBytes(capacity: room)
    var failure: StorageError?
    bytes.append(upTo: room) { output in
      do throws(StorageError) {
        try file.descriptor.read(into: &output, path: path)
      } catch { failure = error }
    }
    if let failure { throw failure }
    let passphrase = Secret(bytes).withoutNewline
    guard passphrase.count <= Limits.passphrase else {
      throw StorageError(
        .tooLarge, "the passphrase file \(path) has more than \(Limits.passphrase) bytes",
        hint: "name the file that has the passphrase, and nothing else")
    }
    return passphrase
  }
}
