internal import Glibc
internal import KistCore
internal import KistWire

extension Daemon {
  /// The socket that was handed over, or else one that kistd makes where clients look for it.
  func listeningSocket() throws(StorageError) -> DaemonSocket {
    if let descriptor = sockets.requests { return DaemonSocket(handedOver: descriptor) }
    if let path = options.socket { return try DaemonSocket(claiming: SocketLocation(path: path)) }
    return try DaemonSocket(
      claiming: SocketLocation(
        environment: environment, uid: geteuid(), isOurDirectory: isOurDirectory))
  }

  /// A command has a daemon, and so a socket, of its own unless a path was given.
  func withSocketOfItsOwn(_ body: (SocketLocation) async throws -> CInt) async throws -> CInt {
    if let path = options.socket { return try await body(SocketLocation(path: path)) }
    let directory = try makeTemporaryDirectory(
      in: environment("XDG_RUNTIME_DIR").flatMap { isOurDirectory($0) ? $0 : nil } ?? "/tmp")
    defer {
      unsafe unlink(directory + "/kist.sock.lock")
      unsafe rmdir(directory)
    }
    return try await body(SocketLocation(path: directory + "/kist.sock"))
  }
}

extension StorageError {
  static var unknownUser: StorageError {
    StorageError(
      .denied,
      "uid \(geteuid()) stands for every user that this user namespace has no number for, so that "
        + "strangers could not be told from you",
      hint: "run kistd as a user that the namespace has a number of its own for")
  }
}
