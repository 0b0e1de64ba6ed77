internal import Glibc
internal import KistClient
internal import KistCore
internal import KistFile
internal import KistServer
internal import KistSystem
internal import KistWire

struct DaemonSocket: Sendable {
  let path: String
  /// The descriptor to accept connections from; the server closes it.
  let descriptor: CInt
  /// The lock of the path; `nil` for a passed socket.
  private let lock: ProcessLock?
  private let identity: stat?

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
  init(
    claiming location: SocketLocation, environment: (String) -> String? = { _ in nil }
  ) throws(StorageError) {
    path = location.path
    try advising(about: path, environment: environment) { () throws(StorageError) in
      try prepareSocketDirectory(directory(of: location.path))
    }
    lock = try socketLock(beside: path)
    try removeStaleSocket(path)
    descriptor = try listen(at: path)
    identity = fileStatus(ofLink: path)
    if identity == nil { throw .failed("look at", path, hint: otherSocketHint) }
  }

  /// Calls the body when the socket is no longer at its path, as after the end of the session that
  /// its directory belongs to (inotify(7)).
  func whenRemoved(_ body: @escaping @Sendable () -> Void) {
    let events = inotify_init1(CInt(IN_CLOEXEC))
    guard events >= 0 else { return }
    let kinds = UInt32(IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)
    unsafe inotify_add_watch(events, directory(of: path), kinds)
    startThread {
      var event = [UInt8](repeating: 0, count: 4096)
      while isInPlace {
        guard unsafe read(events, &event, event.count) > 0 || errno == EINTR else { return }
      }
      body()
    }
  }

  private var isInPlace: Bool {
    guard let identity else { return true }
    return fileStatus(ofLink: path)?.isSameFile(as: identity) == true
  }

  /// Removes the socket from the file system, if it is still this one.
  func remove() {
    if identity != nil, isInPlace { unsafe unlink(path) }
  }
}

/// Takes the lock of a socket's path; a socket whose lock is free is stale.
func socketLock(beside path: String) throws(StorageError) -> ProcessLock {
  try ProcessLock(at: path + ".lock", hint: otherSocketHint) { .alreadyRunning($0, at: path) }
}

extension StorageError {
  fileprivate static func alreadyRunning(_ owner: LockOwner, at path: String) -> StorageError {
    StorageError(
      .unavailable, "kistd is already running, \(owner)",
      hint: "use it at \(path), or name another socket and store with --socket and --data, "
        + "or \(owner.stop)")
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

private func removeStaleSocket(_ path: String) throws(StorageError) {
  guard try isOwnSocket(path) else { return }
  guard !isListenedOn(path) else {
    throw StorageError(
      .unavailable, "another program is listening at \(path)",
      hint: "\(otherSocketHint); if systemd listens there for kistd, stop that first: "
        + "`\(LockOwner.stopService)`")
  }
  guard unsafe unlink(path) == 0 else { throw .failed("replace", path, hint: otherSocketHint) }
}

/// Returns whether a socket of this user is at a path, or nothing; throws if anything else is there.
private func isOwnSocket(_ path: String) throws(StorageError) -> Bool {
  guard let status = fileStatus(ofLink: path) else {
    if errno == ENOENT { return false }
    throw .failed("look at", path, hint: otherSocketHint)
  }
  guard status.isKind(S_IFSOCK), status.st_uid == geteuid() else {
    throw StorageError(
      .denied, "\(path) is not a socket of yours",
      hint: "it was not changed; move it away, or name another path with --socket")
  }
  return true
}

func isListenedOn(_ path: String) -> Bool {
  let descriptor = socket(
    AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
  guard descriptor >= 0 else { return true }
  defer { close(descriptor) }
  let result = unsafe withAddress(Array(path.utf8)) { unsafe connect(descriptor, $0, $1) }
  // Any other failure, such as a full backlog, does not prove that no program listens.
  return result == 0 || (errno != ECONNREFUSED && errno != ENOENT)
}

/// Makes the directory of a socket with mode 0700, or checks that only this user can enter it.
private func prepareSocketDirectory(_ directory: String) throws(StorageError) {
  try checkSocketPlace(directory)
  try makeDirectory(directory, hint: otherSocketHint)
  // Another process may have made it in the meantime.
  try checkSocketDirectory(directory)
}

/// Throws where kistd could not make a socket or its lock at a path; changes nothing.
func checkSocketPlace(_ path: String, environment: (String) -> String?) throws(StorageError) {
  try advising(about: path, environment: environment) { () throws(StorageError) in
    try checkSocketPlace(directory(of: path))
  }
  try ProcessLock.checkIsFree(at: path + ".lock", hint: otherSocketHint) {
    .alreadyRunning($0, at: path)
  }
  _ = try isOwnSocket(path)
}

private func checkSocketPlace(_ directory: String) throws(StorageError) {
  if fileStatus(ofLink: directory) != nil { try checkSocketDirectory(directory) }
  try checkWritable(directory, orElse: otherSocketHint)
}

/// Throws if a socket's XDG_RUNTIME_DIR belongs to another user.
func checkRuntimeDirectory(
  of path: String, environment: (String) -> String?
) throws(StorageError) {
  if let error = StorageError.foreignRuntimeDirectory(of: path, environment: environment) {
    throw error
  }
}

/// Checks a socket's XDG_RUNTIME_DIR, and replaces the hint of an error if it does not exist.
private func advising(
  about path: String, environment: (String) -> String?, _ body: () throws(StorageError) -> Void
) throws(StorageError) {
  try checkRuntimeDirectory(of: path, environment: environment)
  do throws(StorageError) { try body() } catch {
    var error = error
    error.hint = remedy(forMissingRuntimeDirectoryOf: path, environment: environment) ?? error.hint
    throw error
  }
}

/// Throws unless the directory of a socket is this user's, and closed to others.
func checkSocketDirectory(_ directory: String) throws(StorageError) {
  guard let status = fileStatus(ofLink: directory) else {
    throw .failed("look at", directory, hint: otherSocketHint)
  }
  guard status.isKind(S_IFDIR) else {
    if let error = StorageError.fileInPlace(of: directory) { throw error }
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
      "other users may enter the socket's directory \(directory): its mode is "
        + String(status.permissions, radix: 8),
      // Other programs need a directory that every user may write to, such as /tmp.
      hint: (status.st_mode & 0o002 == 0 ? "`chmod 700 \(shellQuoted(directory))`, or " : "")
        + "name a socket in another directory with --socket")
  }
}

let otherSocketHint = "name another path with --socket"
