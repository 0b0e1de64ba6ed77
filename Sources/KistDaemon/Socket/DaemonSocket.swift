internal import Glibc
package import KistCore
internal import KistServer
package import KistWire

/// The daemon's listening socket: mode 0600 in a directory of mode 0700, whatever the umask.
package struct DaemonSocket: Sendable {
  package let path: String
  /// What to accept connections from; who serves it closes it.
  package let descriptor: CInt
  private let lock: ProcessLock
  private let identity: FileIdentity

  /// Takes the place: a socket that nobody listens on is replaced, anything else is left alone.
  ///
  /// Throws `unavailable`, naming the pid, where a daemon is running already.
  package init(claiming location: SocketLocation) throws(StorageError) {
    path = location.path
    try prepareSocketDirectory(directory(of: path))
    lock = try socketLock(beside: path)
    try removeStaleSocket(path)
    descriptor = try listen(at: path)
    guard let identity = FileIdentity(of: path) else { throw .failed("look at", path) }
    self.identity = identity
  }

  /// Removes the socket from the file system, if it is still this one.
  package func remove() {
    if FileIdentity(of: path) == identity { unsafe unlink(path) }
  }
}

/// The right to a socket's path; a socket whose lock is free is stale.
func socketLock(beside path: String) throws(StorageError) -> ProcessLock {
  try ProcessLock(at: path + ".lock") { owner in
    StorageError(
      .unavailable, "kistd is already running, \(owner)",
      hint: "use that one at \(path), or name another socket with --socket")
  }
}

/// Which file a path names.
private struct FileIdentity: Equatable {
  private var device: dev_t
  private var number: ino_t

  init?(of path: String) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    device = status.st_dev
    number = status.st_ino
  }
}

private func removeStaleSocket(_ path: String) throws(StorageError) {
  var status = stat()
  guard unsafe lstat(path, &status) == 0 else {
    if errno == ENOENT { return }
    throw .failed("look at", path)
  }
  guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
    throw StorageError(
      .denied, "there is something at \(path) that is not a socket of yours",
      hint: "it was left as it is; move it away, or name another path with --socket")
  }
  guard !isListenedOn(path) else {
    throw StorageError(
      .unavailable, "another program is listening at \(path)",
      hint: "name another path with --socket")
  }
  guard unsafe unlink(path) == 0 else { throw .failed("replace", path) }
}
