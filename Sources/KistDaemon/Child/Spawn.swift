internal import Glibc
internal import KistSystem

/// posix_spawnp(3) with an empty signal mask, the default answer to SIGPIPE and one more environment
/// variable; gives its error number, or 0.
func spawn(
  _ pid: inout pid_t, _ command: [String], setting variable: String, to value: String
) -> CInt {
  var attributes = posix_spawnattr_t()
  unsafe posix_spawnattr_init(&attributes)
  defer { unsafe posix_spawnattr_destroy(&attributes) }
  var none = sigset_t()
  unsafe sigemptyset(&none)
  unsafe posix_spawnattr_setsigmask(&attributes, &none)
  var ignored = sigset_t()
  unsafe sigemptyset(&ignored)
  unsafe sigaddset(&ignored, SIGPIPE)
  unsafe posix_spawnattr_setsigdefault(&attributes, &ignored)
  unsafe posix_spawnattr_setflags(
    &attributes, CShort(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

  return unsafe withCStrings(command) { arguments in
    unsafe withEnvironment(setting: variable, to: value) { environment in
      unsafe posix_spawnp(&pid, arguments[0]!, nil, &attributes, arguments, environment)
    }
  }
}

/// Lends the environment as it is, of whatever bytes, but for one variable.
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
