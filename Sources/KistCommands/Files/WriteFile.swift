internal import Glibc
internal import KistCore

/// Replaces a file by one of mode 0600, completely or not at all.
func replaceFile(_ path: String, with content: Secret) throws(StorageError) {
  var file = try NewFile(for: path, replacing: true)
  try file.append(content)
  try file.finish()
}

/// Creates a file of mode 0600, which must not exist yet and need not survive a restart of the
/// system.
func writeNewFile(_ path: String, _ content: Secret) throws(StorageError) {
  let file = try openNewFile(path)
  var failure = writeAll(content, to: file)
  // A umask may have removed more than the permissions of others.
  if failure == 0, fchmod(file, 0o600) != 0 { failure = errno }
  if close(file) != 0, failure == 0 { failure = errno }
  guard failure == 0 else {
    unsafe unlink(path)
    throw notWritten(failure)
  }
}
