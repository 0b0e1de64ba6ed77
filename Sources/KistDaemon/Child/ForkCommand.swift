internal import CLinux
internal import Glibc
internal import KistSystem

/// Starts a process that waits to become a command, with one more environment variable.
///
/// Returns its pid and the descriptor for `kist_start_command`, or `nil` with `errno` set.
func forkCommand(
  _ command: [String], setting variable: String, to value: String
) -> (pid: pid_t, starter: CInt)? {
  var starter: CInt = -1
  let pid = unsafe withCStrings(command) { words in
    unsafe withEnvironment(setting: variable, to: value) { environment in
      unsafe kist_fork_command(words, environment, &starter)
    }
  }
  return pid > 0 ? (pid, starter) : nil
}

/// Passes the environment to the closure, byte for byte, with one variable replaced.
private func withEnvironment<Result>(
  setting variable: String, to value: String,
  _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  let prefix = variable + "="
  var entries: [UnsafeMutablePointer<CChar>?] = unsafe []
  var next = unsafe environ
  while let entry = unsafe next.pointee {
    if unsafe strncmp(entry, prefix, prefix.utf8.count) != 0 { unsafe entries.append(entry) }
    unsafe next += 1
  }
  return unsafe withCStrings([prefix + value]) { added in
    unsafe entries.append(added[0])
    unsafe entries.append(nil)
    return unsafe body(&entries)
  }
}
