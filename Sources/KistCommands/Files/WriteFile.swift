internal import Glibc
internal import KistClient
internal import KistCore

/// Writes a file of mode 0600 in the place of the file that is there, all of it or nothing; refuses
/// where something else is there, such as a device or a link.
///
/// It stands on the disk before it has its name: rename(2).
func replaceFile(_ path: String, with content: Secret) throws(StorageError) {
  var status = stat()
  guard unsafe lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
    throw StorageError(
      .badRequest, "what is there is no regular file, and is not replaced",
      hint: "name the file itself; for a pipe or a device, redirect standard output",
      outcome: .unchanged)
  }
  let temporary = "\(path).\(getpid()).new"
  try writeNewFile(temporary, content, isKept: true)
  guard unsafe rename(temporary, path) == 0 else {
    let failure = errno
    unsafe unlink(temporary)
    throw notWritten(failure)
  }
}

/// Makes a file of mode 0600, which must not be there yet; `isKept` is whether it is on the disk
/// when this returns.
func writeNewFile(_ path: String, _ content: Secret, isKept: Bool) throws(StorageError) {
  let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
  guard file >= 0 else { throw notWritten(errno) }
  var failure = writeAll(content, to: file)
  // A umask may have taken more away than others' permissions.
  if failure == 0, fchmod(file, 0o600) != 0 { failure = errno }
  if failure == 0, isKept, fsync(file) != 0 { failure = errno }
  if close(file) != 0, failure == 0 { failure = errno }
  guard failure == 0 else {
    unsafe unlink(path)
    throw notWritten(failure)
  }
}

private func notWritten(_ failure: CInt) -> StorageError {
  StorageError(
    .unavailable, "the file cannot be written: \(describe(failure))",
    hint: "what was there is unchanged", outcome: .unchanged)
}
