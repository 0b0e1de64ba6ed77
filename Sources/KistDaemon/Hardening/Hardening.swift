internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem

/// Protects the process's memory and files from other processes; the first step of kistd.
enum Hardening {
  /// The settings of the process before; a started command gets them back.
  struct Previous: Sendable {
    var umask: mode_t
    var coreLimit: rlimit
    var lockedMemoryLimit: rlimit
  }

  /// Applies these protections and returns the settings before.
  ///
  /// - No core file.
  /// - No debugger of the same user (prctl(2), PR_SET_DUMPABLE).
  /// - New files are for this user alone.
  /// - No closed standard descriptor.
  /// - Writing to a client that has gone does not end the process.
  /// - No crash report by Swift's runtime, which would print memory into the log.
  /// - As much locked memory as allowed, so that keys stay out of swap.
  static func apply() throws(StorageError) -> Previous {
    try StandardDescriptors.reserve()
    kist_default_crash_signals()
    guard kist_set_dumpable(0) == 0 else {
      throw .internal("PR_SET_DUMPABLE: \(systemText(of: errno))")
    }
    signal(SIGPIPE, SIG_IGN)
    let previous = Previous(
      umask: umask(0o077), coreLimit: limit(core), lockedMemoryLimit: limit(lockedMemory))
    setOwnLimits(previous)
    return previous
  }

  /// Runs a body with the settings before, except that the process stays undumpable.
  static func lifted<Result>(_ previous: Previous, _ body: () throws -> Result) rethrows -> Result {
    let current = umask(previous.umask)
    set(core, previous.coreLimit)
    set(lockedMemory, previous.lockedMemoryLimit)
    defer {
      umask(current)
      setOwnLimits(previous)
    }
    return try body()
  }

  private static func setOwnLimits(_ previous: Previous) {
    set(core, rlimit(rlim_cur: 0, rlim_max: previous.coreLimit.rlim_max))
    let locked = previous.lockedMemoryLimit.rlim_max
    set(lockedMemory, rlimit(rlim_cur: locked, rlim_max: locked))
  }

  private static let core = __rlimit_resource_t(RLIMIT_CORE.rawValue)
  private static let lockedMemory = __rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue)

  private static func limit(_ resource: __rlimit_resource_t) -> rlimit {
    var limit = rlimit()
    unsafe getrlimit(resource, &limit)
    return limit
  }

  private static func set(_ resource: __rlimit_resource_t, _ limit: rlimit) {
    var limit = limit
    unsafe setrlimit(resource, &limit)
  }
}

/// Keeps descriptors 0, 1 and 2 in use, so that none of kistd's files takes a standard number.
enum StandardDescriptors {
  /// Opens /dev/null for each closed standard descriptor; a started command does not inherit these.
  static func reserve() throws(StorageError) {
    var descriptor = try openNull()
    while descriptor <= STDERR_FILENO { descriptor = try openNull() }
    Glibc.close(descriptor)
  }

  /// Closes a descriptor; a standard one becomes /dev/null.
  static func close(_ descriptor: CInt) {
    guard descriptor <= STDERR_FILENO, let null = try? openNull() else {
      Glibc.close(descriptor)
      return
    }
    dup2(null, descriptor)
    Glibc.close(null)
  }

  private static func openNull() throws(StorageError) -> CInt {
    let descriptor = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw .internal("cannot open /dev/null: \(systemText(of: errno))")
    }
    return descriptor
  }
}
