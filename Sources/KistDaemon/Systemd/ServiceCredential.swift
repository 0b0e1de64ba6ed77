/// Returns the source of the key or passphrase that a service manager passed to kistd.
///
/// See systemd.exec(5), `LoadCredential=`.
func serviceCredential(
  in directory: String, isFile: (String) -> Bool
) -> Options.KeySource? {
  let key = directory + "/kist.key"
  if isFile(key) { return .file(path: key) }
  let passphrase = directory + "/kist.passphrase"
  return isFile(passphrase) ? .passphraseFile(path: passphrase) : nil
}
