internal import CLinux
internal import Glibc
internal import KistCore
internal import KistFile
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
      throw .failed("open", "/dev/null", hint: "make this device available to kistd")
    }
    return descriptor
  }
}

/// The rights that this process has given up until it ends, as far as the kernel supports it.
struct Confinement {
  /// The rights to keep for a directory tree or one file: one or more of `kist_may_…`.
  struct Rule {
    var path: String
    var rights: UInt64
  }

  enum State: Equatable, CustomStringConvertible {
    case inForce(String)
    case missing(String)
    /// The kernel supports it, but a sandbox or a limit forbids it; with the name of the error.
    case refused(String)

    var isInForce: Bool { if case .inForce = self { true } else { false } }

    var description: String {
      switch self {
      case .inForce(let name): name
      case .missing(let name): "not in force: this kernel has no \(name)"
      case .refused(let error): "not in force: refused (\(error))"
      }
    }
  }

  /// The filter that refuses the system calls that kistd does not make.
  let calls: State
  /// The Landlock rules that refuse all other files.
  let files: State
  /// The paths of rules that did not exist, and so stay out of reach.
  private(set) var unreachable: [String] = []

  /// Forbids new privileges, files outside the rules, and calls that the systemd unit forbids.
  ///
  /// Landlock applies to the calling thread and the threads it starts, so call this before there
  /// are others. Confinement that the kernel does not support is left out. Throws if a supported
  /// kind fails.
  init(_ rules: [Rule], scopes: UInt64) throws(StorageError) {
    guard kist_forbid_new_privileges() == 0 else { throw .notConfined(errno) }
    files = try restrictFiles(rules, scopes: scopes, unreachable: &unreachable)
    calls =
      kist_confine_calls() == 0
      ? .inForce("seccomp")
      : try .notInForce("seccomp filters", errno, missing: [EINVAL, ENOSYS])
  }
}

private func restrictFiles(
  _ rules: [Confinement.Rule], scopes: UInt64, unreachable: inout [String]
) throws(StorageError) -> Confinement.State {
  let version = kist_landlock_version()
  guard version > 0 else {
    return try .notInForce("Landlock", errno, missing: [ENOSYS, EOPNOTSUPP])
  }
  let descriptor = kist_landlock_rules(version, scopes)
  guard descriptor >= 0 else { throw .notConfined(errno) }
  defer { close(descriptor) }
  for rule in rules
  where unsafe kist_landlock_allow(descriptor, version, rule.path, rule.rights) != 0 {
    let failure = errno
    guard [ENOENT, ENOTDIR, EACCES].contains(failure) else { throw .notConfined(failure) }
    // A rule for the parent directory would also allow its other files.
    unreachable.append(rule.path)
  }
  guard kist_landlock_restrict(descriptor) == 0 else {
    // The kernel nests at most 16 Landlock rule sets.
    return try .notInForce("Landlock", errno, missing: [])
  }
  return .inForce("Landlock \(version)")
}

extension Confinement.State {
  /// Returns why a confinement is not in force: an old kernel, a sandbox or a limit; else throws.
  fileprivate static func notInForce(
    _ name: String, _ number: CInt, missing: [CInt]
  ) throws(StorageError) -> Confinement.State {
    if missing.contains(number) { return .missing(name) }
    let refusals = [EPERM: "EPERM", EACCES: "EACCES", E2BIG: "E2BIG"]
    guard let refusal = refusals[number] else { throw .notConfined(number) }
    return .refused(refusal)
  }
}

extension StorageError {
  fileprivate static func notConfined(_ number: CInt) -> StorageError {
    StorageError(
      Code(errno: number), "kistd cannot confine itself: \(systemText(of: number))",
      hint: "nothing was opened; try again")
  }
}
