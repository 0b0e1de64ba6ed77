internal import CLinux
internal import Glibc
internal import KistClient
internal import KistCore

/// Writes a file of mode 0600 in the place of the file that is there, all of it or nothing; refuses
/// where something else is there, such as a device or a link.
///
/// It stands on the disk before it has a name, so that nothing is left of a kist that is killed, on
/// all file systems that have this: open(2), O_TMPFILE. It gets its name with rename(2).
func replaceFile(_ path: String, with content: Secret) throws(StorageError) {
  var status = stat()
  guard unsafe lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
    throw StorageError(
      .badRequest, "what is there is no regular file, and is not replaced",
      hint: "name the file itself; for a pipe or a device, redirect standard output",
      outcome: .unchanged)
  }
  // No name that a kist which was killed may have left: it may have had this one's process id.
  let temporary = "\(path).\(UInt32.random(in: .min ... .max)).new"
  if try !writeUnnamedFile(content, thenNamed: temporary) {
    try writeNewFile(temporary, content, isKept: true)
  }
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
  var failure = fill(file, with: content, isKept: isKept)
  if close(file) != 0, failure == 0 { failure = errno }
  guard failure == 0 else {
    unsafe unlink(path)
    throw notWritten(failure)
  }
}

/// Makes a file that has a name only when it is on the disk; gives false where the file system
/// cannot.
private func writeUnnamedFile(
  _ content: Secret, thenNamed path: String
) throws(StorageError) -> Bool {
  let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
  let file = unsafe kist_open_unnamed(end.map { String(path[...$0]) } ?? ".")
  guard file >= 0 else { return false }
  defer { close(file) }
  let failure = fill(file, with: content, isKept: true)
  guard failure == 0 else { throw notWritten(failure) }
  return unsafe linkat(AT_FDCWD, "/proc/self/fd/\(file)", AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0
}

/// Writes a new file; an error number, or 0.
private func fill(_ file: CInt, with content: Secret, isKept: Bool) -> CInt {
  let failure = writeAll(content, to: file)
  if failure != 0 { return failure }
  // A umask may have taken more away than others' permissions.
  if fchmod(file, 0o600) != 0 { return errno }
  return isKept && fsync(file) != 0 ? errno : 0
}

private func notWritten(_ failure: CInt) -> StorageError {
  StorageError(
    .unavailable, "the file cannot be written: \(describe(failure))",
    hint: "what was there is unchanged", outcome: .unchanged)
}
