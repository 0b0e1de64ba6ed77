internal import Glibc
internal import KistCore

/// The listening sockets that a service manager passes to kistd (sd_listen_fds(3)).
struct PassedSockets: Equatable {
  var requests: CInt?
  /// The socket named `credentials`, on which the manager requests credentials for other units.
  var credentials: CInt?

  /// Takes the sockets that were passed to this process, and hides them from other programs.
  ///
  /// Throws `badRequest` if one is not a listening Unix stream socket, or has no use.
  static func take(
    environment: (String) -> String?, pid: pid_t = getpid(), first: CInt = 3
  ) throws(StorageError) -> PassedSockets {
    var sockets = PassedSockets()
    guard environment("LISTEN_PID") == "\(pid)" else { return sockets }
    guard let count = environment("LISTEN_FDS").flatMap(CInt.init), (1...16).contains(count) else {
      throw .badSocket("LISTEN_FDS is not a number from 1 to 16")
    }
    let names = (environment("LISTEN_FDNAMES") ?? "")
      .split(separator: ":", omittingEmptySubsequences: false)
    for (number, descriptor) in (first..<first + count).enumerated() {
      guard isListening(descriptor) else {
        throw .badSocket("descriptor \(descriptor) is not a listening Unix stream socket")
      }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      let name = number < names.count ? names[number] : ""
      let place = name == "credentials" ? \PassedSockets.credentials : \.requests
      guard sockets[keyPath: place] == nil else {
        throw .badSocket("descriptor \(descriptor) is one more of its kind")
      }
      sockets[keyPath: place] = descriptor
    }
    return sockets
  }
}

private func isListening(_ descriptor: CInt) -> Bool {
  option(SO_DOMAIN, of: descriptor) == AF_UNIX
    && option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
    && option(SO_ACCEPTCONN, of: descriptor) == 1
}

private func option(_ option: CInt, of descriptor: CInt) -> CInt? {
  var value: CInt = 0
  var size = socklen_t(MemoryLayout<CInt>.size)
  guard unsafe getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 else { return nil }
  return value
}

extension StorageError {
  fileprivate static func badSocket(_ what: String) -> StorageError {
    StorageError(
      .badRequest, "cannot use the sockets that were handed over: \(what)",
      hint: "let kistd.socket and kistd-credentials.socket alone start kistd.service")
  }
}
