internal import CLinux
internal import Glibc
package import KistCore
internal import KistSystem

/// Keeps the process's memory and files to itself; the first thing that kistd does.
package enum Hardening {
  /// What the process had before: a command that is started gets it back.
  package struct Previous: Sendable {
    var umask: mode_t
    var coreLimit: rlimit
  }

  /// No core file, no debugger of the same user (prctl(2), PR_SET_DUMPABLE), files for this user
  /// alone, no closed standard descriptor, no death by writing to a client that has gone, and no
  /// report of a crash by Swift's runtime, which would print memory into the log.
  package static func apply() throws(StorageError) -> Previous {
    try StandardDescriptors.reserve()
    kist_default_crash_signals()
    guard kist_set_dumpable(0) == 0 else {
      throw .internal("PR_SET_DUMPABLE: \(systemText(of: errno))")
    }
    var limit = rlimit()
    unsafe getrlimit(core, &limit)
    setCoreLimit(rlimit(rlim_cur: 0, rlim_max: limit.rlim_max))
    signal(SIGPIPE, SIG_IGN)
    return Previous(umask: umask(0o077), coreLimit: limit)
  }

  /// Runs a body with what the process had before, but for being dumpable.
  static func lifted<Result>(_ previous: Previous, _ body: () throws -> Result) rethrows -> Result {
    let current = umask(previous.umask)
    setCoreLimit(previous.coreLimit)
    defer {
      umask(current)
      setCoreLimit(rlimit(rlim_cur: 0, rlim_max: previous.coreLimit.rlim_max))
    }
    return try body()
  }

  private static var core: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_CORE.rawValue) }

  private static func setCoreLimit(_ limit: rlimit) {
    var limit = limit
    unsafe setrlimit(core, &limit)
  }
}
