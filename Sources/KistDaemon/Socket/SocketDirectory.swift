internal import Glibc
internal import KistCore
internal import KistSystem

/// Makes the directory of a socket with mode 0700, or checks that only this user can enter it.
func prepareSocketDirectory(_ directory: String) throws(StorageError) {
  try makeDirectory(directory, hint: otherSocketHint)
  var status = stat()
  guard unsafe lstat(directory, &status) == 0 else {
    throw .failed("look at", directory, hint: otherSocketHint)
  }
  guard status.st_mode & S_IFMT == S_IFDIR else {
    throw StorageError(
      .denied, "the socket's directory \(directory) is not a directory",
      hint: "name a real one, not a link, with --socket")
  }
  guard status.st_uid == geteuid() else {
    throw StorageError(
      .denied, "the socket's directory \(directory) belongs to another user",
      hint: "name one of your own with --socket")
  }
  guard status.st_mode & 0o077 == 0 else {
    throw StorageError(
      .denied,
      "others may enter the socket's directory \(directory): its mode is "
        + String(status.st_mode & 0o7777, radix: 8),
      hint:
        "name a socket in a directory of mode 700 with --socket, or take the rights of others away")
  }
}

/// Returns whether the path is a directory of this user, and not a link.
func isOurDirectory(_ path: String) -> Bool {
  var status = stat()
  return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    && status.st_uid == geteuid()
}

/// Returns whether the path is a regular file.
func isFile(_ path: String) -> Bool {
  var status = stat()
  return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
}

/// Returns whether the path is a socket.
func isSocket(_ path: String) -> Bool {
  var status = stat()
  return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
}

/// Makes a directory of mode 0700 and its missing parent directories.
///
/// - Parameter hint: the hint if the directory cannot be made.
func makeDirectory(_ path: String, hint: String) throws(StorageError) {
  guard makeDirectory(path) else { throw .failed("make the directory", path, hint: hint) }
}

/// The hint if a socket cannot be made.
let otherSocketHint = "name another path with --socket"
