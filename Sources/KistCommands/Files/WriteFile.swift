internal import Glibc
internal import KistCore

/// Writes a file of mode 0600 in the place of the file that is there, all of it or nothing.
func replaceFile(_ path: String, with content: Secret) throws(StorageError) {
  var file = try NewFile(for: path, replacing: true)
  try file.append(content)
  try file.finish()
}

/// Makes a file of mode 0600, which must not be there yet, and need not outlive the system.
func writeNewFile(_ path: String, _ content: Secret) throws(StorageError) {
  let file = try openNewFile(path)
  var failure = writeAll(content, to: file)
  // A umask may have taken more away than others' permissions.
  if failure == 0, fchmod(file, 0o600) != 0 { failure = errno }
  if close(file) != 0, failure == 0 { failure = errno }
  guard failure == 0 else {
    unsafe unlink(path)
    throw notWritten(failure)
  }
}
