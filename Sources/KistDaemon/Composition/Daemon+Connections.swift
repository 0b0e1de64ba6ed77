internal import Glibc
internal import Logging

extension Daemon {
  /// How many connections are served at once: what was asked for, or less where the process may not
  /// have so many descriptors, which the log then says.
  ///
  /// Without one, a connection that waits could not even be refused.
  func connectionsWithDescriptors() -> Int {
    let allowed = descriptorLimit()
    // The lowest number that is free is about how many are taken.
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

  /// Those that are opened later: by the storages, for the log, to look at clients, and for units.
  private var descriptorsOfOurOwn: Int { sockets.credentials == nil ? 32 : 96 }
}

private func descriptorLimit() -> Int {
  var limit = rlimit()
  unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  return Int(clamping: limit.rlim_cur)
}
