internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

extension Daemon {
  /// Returns the passed socket, or one that kistd makes where clients look for it.
  func listeningSocket() throws(StorageError) -> DaemonSocket {
    if let descriptor = sockets.requests { return DaemonSocket(handedOver: descriptor) }
    return try DaemonSocket(claiming: socketLocation())
  }

  /// Returns the location where kistd makes its socket.
  func socketLocation() throws(StorageError) -> SocketLocation {
    if let path = options.socket { return try SocketLocation(path: path) }
    return try SocketLocation(
      environment: environment, uid: geteuid(), isOurDirectory: isOurDirectory)
  }

  /// Starts a process that waits to become the command.
  ///
  /// Unless a path was given, the command gets its own daemon with its own socket.
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

  /// Removes the directory that was made for the socket of a command.
  func removeOwnDirectory() {
    guard let ownDirectory else { return }
    unsafe unlink(ownDirectory + "/kist.sock.lock")
    unsafe rmdir(ownDirectory)
  }
}

extension StorageError {
  static var unknownUser: StorageError {
    StorageError(
      .denied,
      "uid \(geteuid()) represents every user without a number in this user namespace, so kistd "
        + "cannot distinguish other users from you",
      hint: "run kistd as a user with a number in the namespace")
  }
}
