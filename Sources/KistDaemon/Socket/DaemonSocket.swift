internal import Glibc
package import KistCore
internal import KistServer
internal import KistSystem
package import KistWire

/// The daemon's listening socket.
package struct DaemonSocket: Sendable {
  package let path: String
  /// The descriptor to accept connections from; the server closes it.
  package let descriptor: CInt
  /// The lock of the path; `nil` for a passed socket.
  private let lock: ProcessLock?
  private let identity: FileIdentity?

  /// Uses the socket of a service manager, which keeps the socket and its path.
  init(handedOver descriptor: CInt) {
    path = socketPath(of: descriptor)
    self.descriptor = descriptor
    lock = nil
    identity = nil
  }

  /// Makes a socket with mode 0600 in a directory of mode 0700, whatever the umask.
  ///
  /// It replaces a socket that no program listens on, and leaves anything else unchanged. Throws
  /// `unavailable`, naming the pid, if a daemon is already running.
  package init(claiming location: SocketLocation) throws(StorageError) {
    path = location.path
    try prepareSocketDirectory(directory(of: path))
    lock = try socketLock(beside: path)
    try removeStaleSocket(path)
    descriptor = try listen(at: path)
    guard let identity = FileIdentity(of: path) else {
      throw .failed("look at", path, hint: otherSocketHint)
    }
    self.identity = identity
  }

  /// Removes the socket from the file system, if it is still this one.
  package func remove() {
    if let identity, FileIdentity(of: path) == identity { unsafe unlink(path) }
  }
}

/// Takes the lock of a socket's path; a socket whose lock is free is stale.
func socketLock(beside path: String) throws(StorageError) -> ProcessLock {
  try ProcessLock(at: path + ".lock", hint: otherSocketHint) { owner in
    StorageError(
      .unavailable, "kistd is already running, \(owner)",
      hint: "use that one at \(path), or name another socket and store with --socket and --data")
  }
}

/// Returns the path that a Unix socket is bound to; empty if it has none.
private func socketPath(of descriptor: CInt) -> String {
  var address = sockaddr_un()
  var size = socklen_t(MemoryLayout<sockaddr_un>.size)
  _ = unsafe withUnsafeMutablePointer(to: &address) { address in
    unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      unsafe getsockname(descriptor, address, &size)
    }
  }
  return unsafe withUnsafeBytes(of: &address.sun_path) { path in
    unsafe String(decoding: path.prefix { $0 != 0 }, as: UTF8.self)
  }
}

/// The identity of the file at a path.
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
    throw .failed("look at", path, hint: otherSocketHint)
  }
  guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
    throw StorageError(
      .denied, "there is something at \(path) that is not a socket of yours",
      hint: "it was left as it is; move it away, or name another path with --socket")
  }
  guard !isListenedOn(path) else {
    throw StorageError(
      .unavailable, "another program is listening at \(path)",
      hint: otherSocketHint)
  }
  guard unsafe unlink(path) == 0 else {
    throw .failed("replace", path, hint: otherSocketHint)
  }
}
