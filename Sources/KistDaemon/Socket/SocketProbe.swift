internal import Glibc

/// Returns whether a program accepts connections at a socket's path.
func isListenedOn(_ path: String) -> Bool {
  let descriptor = socket(
    AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
  guard descriptor >= 0 else { return true }
  defer { close(descriptor) }
  let result = unsafe withAddress(Array(path.utf8)) { unsafe connect(descriptor, $0, $1) }
  // Any other failure, such as a full backlog, does not prove that no program listens.
  return result == 0 || (errno != ECONNREFUSED && errno != ENOENT)
}
