internal import Glibc
internal import Logging

extension Daemon {
  /// Returns the number of connections to serve at once.
  ///
  /// It is the requested number, or less if the process may not open enough descriptors. The log
  /// reports a lower number. Without a free descriptor, kistd could not even refuse a waiting
  /// connection.
  func connectionsWithDescriptors() -> Int {
    let allowed = descriptorLimit()
    // The lowest free number is about the number of descriptors in use.
    let taken = Int(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0))
    close(CInt(taken))
    let number = max(1, min(options.maximumConnections, allowed - taken - descriptorsOfOurOwn))
    if number < options.maximumConnections {
      logger.warning(
        "serving fewer connections at once than the limit: too few files may be open",
        metadata: [
          "connections": "\(number)", "files": "\(allowed)",
          "limit": "\(options.maximumConnections)",
        ])
    }
    return number
  }

  /// The number of descriptors that are opened later: by storages, the log, checks of clients,
  /// units.
  private var descriptorsOfOurOwn: Int { sockets.credentials == nil ? 32 : 96 }
}

private func descriptorLimit() -> Int {
  var limit = rlimit()
  unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  return Int(clamping: limit.rlim_cur)
}
