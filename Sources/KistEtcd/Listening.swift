#if Etcd
  internal import Glibc
  internal import KistCore
  internal import KistServer
  internal import KistSystem

  /// Makes a listening socket at a path, and its directory.
  ///
  /// Replaces a socket that an ended kist-etcd has left.
  ///
  /// The lock beside the socket is held until the process ends. Throws `unavailable` if another
  /// process holds it, and `denied` if something other than a socket of this user is at the path.
  func listenReplacing(_ path: String) throws(StorageError) -> CInt {
    _ = makeDirectory(directory(of: path))
    let lock = unsafe open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else {
      throw StorageError(
        .unavailable, "cannot open \(path).lock: \(systemText(of: errno))",
        hint: "make the directory, or name another path with --socket")
    }
    guard takeLock(lock) else {
      close(lock)
      throw StorageError(
        .unavailable, "another kist-etcd is listening at \(path)",
        hint: "stop it, or name another path with --socket")
    }
    if let status = fileStatus(ofLink: path) {
      guard status.isKind(S_IFSOCK), status.st_uid == geteuid() else {
        throw StorageError(
          .denied, "\(path) is not a socket of yours",
          hint: "it was not changed; move it away, or name another path with --socket")
      }
      unsafe unlink(path)
    }
    return try listen(at: path)
  }
#endif
