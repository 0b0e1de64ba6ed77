import Glibc

/// A child process.
///
/// (Foundation's `Process` sometimes crashes if several threads start processes.)
struct Spawned: Sendable {
  let identifier: pid_t

  /// Starts a program in its own process group.
  init(
    _ program: String, _ arguments: [String], environment: [String: String],
    input: CInt, output: CInt, errors: CInt
  ) throws {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (target, source) in [input, output, errors].enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, source, CInt(target))
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    // Threads of a pool block signals, but their children must not.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
    let variables = environment.map { "\($0.key)=\($0.value)" }
    var words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
    var settings = unsafe variables.map { unsafe strdup($0) } + [nil]
    defer { unsafe (words + settings).forEach { unsafe free($0) } }
    var identifier: pid_t = 0
    let code = unsafe posix_spawn(
      &identifier, program, &actions, &attributes, &words, &settings)
    guard code == 0 else { throw CannotStart(program: program, code: code) }
    self.identifier = identifier
  }

  /// The status from wait(2); `nil` while it runs.
  func status() -> CInt? {
    var status: CInt = 0
    return unsafe waitpid(identifier, &status, WNOHANG) == identifier ? status : nil
  }
}

/// An error: a program could not be started.
struct CannotStart: Error, CustomStringConvertible {
  let program: String
  let code: CInt

  var description: String {
    "\(program) cannot be started: \(unsafe String(cString: strerror(code)))"
  }
}

/// Opens a file that no other child inherits.
func openFile(_ path: String, _ flags: CInt) throws -> CInt {
  let descriptor = unsafe open(path, flags | O_CLOEXEC, 0o600)
  guard descriptor >= 0 else { throw CannotStart(program: path, code: errno) }
  return descriptor
}
