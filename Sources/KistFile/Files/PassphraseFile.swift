internal import KistCore

/// A passphrase kept in a file that only this user can read, such as a credential of systemd.
enum PassphraseFile {
  /// Reads the passphrase, less one newline at its end; `nil` when there is no such file, `denied`
  /// when others could have read it.
  static func read(_ path: String) throws(StorageError) -> Secret? {
    guard let file = try PrivateFile.open(path, "passphrase file") else { return nil }
    // Room for the newline and for one byte more than is allowed.
    let room = Limits.passphrase + Secret.longestNewline + 1
    var bytes = WipedBytes(capacity: room)
    var failure: StorageError?
    bytes.append(upTo: room) { output in
      do throws(StorageError) {
        try file.descriptor.read(into: &output, path: path)
      } catch { failure = error }
    }
    if let failure { throw failure }
    return Secret(bytes).withoutNewline
  }
}
