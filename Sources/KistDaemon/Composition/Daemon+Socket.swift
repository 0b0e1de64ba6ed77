internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire
internal import Logging

extension Daemon {
  /// Returns the passed socket, or one that kistd makes where clients look for it.
  func listeningSocket() throws(StorageError) -> DaemonSocket {
    if let descriptor = sockets.requests { return DaemonSocket(handedOver: descriptor) }
    return try DaemonSocket(claiming: socketLocation(), environment: environment)
  }

  /// Returns the path of the socket that it will listen on.
  func socketPath() throws(StorageError) -> String {
    if let descriptor = sockets.requests { return DaemonSocket(handedOver: descriptor).path }
    return try socketLocation().path
  }

  func socketLocation() throws(StorageError) -> SocketLocation {
    try KistDaemon.socketLocation(options, environment)
  }

  /// Starts a process that waits to become the command; makes a directory if no socket is named.
  mutating func prepareCommand(previous: Hardening.Previous) throws {
    if options.socket == nil {
      let parent =
        environment("XDG_RUNTIME_DIR").flatMap { isOurDirectory($0) ? $0 : nil } ?? "/tmp"
      guard let directory = makeTemporaryDirectory(parent + "/kist-") else {
        throw StorageError.failed("make a directory in", parent, hint: otherSocketHint)
      }
      ownDirectory = directory
      options.socket = directory + "/kist.sock"
    }
    do {
      child = try ChildProcess(
        waitingFor: options.command, socket: socketLocation().path, previous: previous)
    } catch {
      removeOwnDirectory()
      throw error
    }
  }

  func removeOwnDirectory() {
    guard let ownDirectory else { return }
    unsafe unlink(ownDirectory + "/kist.sock.lock")
    unsafe rmdir(ownDirectory)
  }

  /// Throws if this process may open too few files to serve any client.
  static func checkFileLimit() throws(StorageError) {
    let allowed = fileLimit()
    guard allowed < fewestFiles else { return }
    throw StorageError(
      .unavailable,
      "the limit of open files is \(allowed), and kistd needs at least \(fewestFiles)",
      hint: "raise it: `ulimit -n 1024`, or `LimitNOFILE=1024` in the unit")
  }

  /// The fewest files that a kistd must be allowed to open: its own, and those of a client and a storage.
  private static var fewestFiles: Int { 64 }

  private static func fileLimit() -> Int {
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_cur)
  }

  /// Returns the number of connections to serve at once, lowered if there are too few descriptors.
  ///
  /// Without a free descriptor, kistd could not even refuse a waiting connection.
  func connectionsWithDescriptors() -> Int {
    let allowed = Self.fileLimit()
    // The lowest free number is about the number of descriptors in use.
    let taken = Int(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0))
    close(CInt(taken))
    // Descriptors for storages, the log, checks of clients, and units.
    let later = sockets.credentials == nil ? 32 : 96
    let number = max(1, min(options.maximumConnections, allowed - taken - later))
    if number < options.maximumConnections {
      logger.warning(
        "serving fewer connections than the limit, because the limit of open files is too low",
        metadata: [
          "connections": "\(number)", "files": "\(allowed)",
          "limit": "\(options.maximumConnections)",
        ])
    }
    return number
  }
}

/// Returns the place of a new socket: the value of the option, or where clients look for it.
func socketLocation(
  _ options: Options, _ environment: (String) -> String?
) throws(StorageError) -> SocketLocation {
  if let path = options.socket { return try SocketLocation(path: path) }
  return try SocketLocation(
    environment: environment, uid: geteuid(), isOurDirectory: isOurDirectory)
}
