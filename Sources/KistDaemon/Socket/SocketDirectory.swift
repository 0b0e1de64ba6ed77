internal import Glibc
internal import KistCore
internal import KistSystem

/// Makes the directory of a socket with mode 0700, or checks that only this user can enter it.
func prepareSocketDirectory(_ directory: String) throws(StorageError) {
  try makeDirectory(directory, hint: otherSocketHint)
  guard let status = fileStatus(ofLink: directory) else {
    throw .failed("look at", directory, hint: otherSocketHint)
  }
  guard status.isKind(S_IFDIR) else {
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
        + String(status.permissions, radix: 8),
      hint:
        "name a socket in a directory of mode 700 with --socket, or take the rights of others away")
  }
}

/// Returns whether the path is a directory of this user, and not a link.
func isOurDirectory(_ path: String) -> Bool {
  fileStatus(ofLink: path).map { $0.isKind(S_IFDIR) && $0.st_uid == geteuid() } ?? false
}

func isFile(_ path: String) -> Bool {
  fileStatus(of: path)?.isKind(S_IFREG) ?? false
}

func isSocket(_ path: String) -> Bool {
  fileStatus(of: path)?.isKind(S_IFSOCK) ?? false
}

/// Makes a directory of mode 0700 and its missing parent directories.
///
/// - Parameter hint: the hint if the directory cannot be made.
func makeDirectory(_ path: String, hint: String) throws(StorageError) {
  guard makeDirectory(path) else { throw .failed("make the directory", path, hint: hint) }
}

/// The hint if a socket cannot be made.
let otherSocketHint = "name another path with --socket"
