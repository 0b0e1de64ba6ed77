package import Glibc

/// The source of a standard stream of a program that is started.
package enum ProgramStream {
  /// A descriptor of this process.
  case descriptor(CInt)
  /// /dev/null.
  case null
}

/// Starts a program with posix_spawn(3); a failure has the error number of the system.
///
/// - Parameters:
///   - words: the path or the name of the program, and its arguments.
///   - streams: the standard streams that differ from those of this process.
///   - searches: whether to look for the program in PATH.
///   - inOwnSession: whether the program has no terminal, and can be signalled with its children.
package func spawn(
  _ words: UnsafePointer<UnsafeMutablePointer<CChar>?>,
  _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>,
  streams: [CInt: ProgramStream] = [:], searches: Bool = false, inOwnSession: Bool = false
) -> (pid: pid_t, failure: CInt) {
  var actions = unsafe posix_spawn_file_actions_t()
  unsafe posix_spawn_file_actions_init(&actions)
  defer { unsafe posix_spawn_file_actions_destroy(&actions) }
  for (stream, source) in streams {
    switch source {
    case .descriptor(let descriptor):
      unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, stream)
    case .null:
      unsafe posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0)
    }
  }
  var attributes = posix_spawnattr_t()
  unsafe posix_spawnattr_init(&attributes)
  defer { unsafe posix_spawnattr_destroy(&attributes) }
  // Swift does not see the name of the flag, POSIX_SPAWN_SETSID.
  if inOwnSession { unsafe posix_spawnattr_setflags(&attributes, 0x80) }
  var pid: pid_t = 0
  let failure =
    searches
    ? unsafe posix_spawnp(&pid, words[0]!, &actions, &attributes, words, environment)
    : unsafe posix_spawn(&pid, words[0]!, &actions, &attributes, words, environment)
  return (pid, failure)
}

/// Waits until a child process ends, and returns its exit status, or 128 plus the number of its signal.
package func exitStatus(of pid: pid_t) -> CInt {
  var status: CInt = 0
  while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
  let signal = status & 0x7f
  return signal == 0 ? status >> 8 & 0xff : 128 + signal
}
