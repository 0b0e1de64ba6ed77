internal import Glibc
internal import KistCore

/// The variables that kistd reads, besides those that begin with `KISTD_`.
private let others: Set<String> = [
  "CREDENTIALS_DIRECTORY", "DBUS_SESSION_BUS_ADDRESS", "HOME", "JOURNAL_STREAM", "KIST_SOCKET",
  "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
]

/// Variables that a service manager sets for kistd alone, and that no other program gets.
private let ofThisProcess: Set<String> = [
  "LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "LISTEN_PIDFDID", "NOTIFY_SOCKET", "WATCHDOG_PID",
  "WATCHDOG_USEC",
]

/// Reads kistd's part of the environment, and removes the variables that are for kistd alone.
///
/// Call it before there is a second thread. Throws `badRequest`, naming the variable, if a value is
/// not UTF-8. A repaired value would be a different one.
func takeEnvironment() throws(StorageError) -> [String: String] {
  var variables: [String: String] = [:]
  var next = unsafe environ
  while let entry = unsafe next.pointee {
    unsafe next += 1
    guard let equals = unsafe strchr(entry, CInt(UInt8(ascii: "="))) else { continue }
    let length = unsafe equals - entry
    let name = unsafe String(
      decoding: UnsafeRawBufferPointer(start: entry, count: length), as: UTF8.self)
    guard name.hasPrefix("KISTD_") || others.contains(name) || ofThisProcess.contains(name)
    else { continue }
    guard let value = unsafe String(validatingCString: equals + 1) else {
      throw StorageError(
        .badRequest, "the environment variable \(name) is not UTF-8",
        hint: "set it to text in UTF-8, or unset it")
    }
    // The first one counts, as for getenv(3).
    if variables[name] == nil { variables[name] = value }
  }
  for name in ofThisProcess { unsafe unsetenv(name) }
  return variables
}
