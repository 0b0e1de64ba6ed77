internal import Glibc
internal import KistCore
internal import KistSystem

/// What commands look at beside the daemon.
package struct Surroundings: Sendable {
  /// What is known of a file.
  package struct File: Sendable, Equatable {
    package var owner: UInt32
    /// Its permissions, such as 0o700.
    package var mode: UInt32
    /// What tells it from every other file: its device and its number there.
    package var identity: [UInt64]

    package init(owner: UInt32, mode: UInt32, identity: [UInt64]) {
      self.owner = owner
      self.mode = mode
      self.identity = identity
    }
  }

  package var uid: UInt32
  /// The name of that user, where there is one.
  package var user: String?
  /// The path of this program.
  package var program: String
  package var environment: @Sendable (String) -> String?
  /// What is at a path, behind symbolic links; `nil` where nothing is to be seen.
  package var file: @Sendable (String) -> File?
  /// The bytes that are free for the user on the disk that a path is on.
  package var freeBytes: @Sendable (String) -> UInt64?
  /// The lines that another program prints on standard output; none where it cannot be run.
  package var lines: @Sendable ([String]) -> [String]

  package init(
    uid: UInt32, user: String?, program: String,
    environment: @escaping @Sendable (String) -> String?,
    file: @escaping @Sendable (String) -> File?,
    freeBytes: @escaping @Sendable (String) -> UInt64?,
    lines: @escaping @Sendable ([String]) -> [String]
  ) {
    self.uid = uid
    self.user = user
    self.program = program
    self.environment = environment
    self.file = file
    self.freeBytes = freeBytes
    self.lines = lines
  }
}

extension Surroundings {
  /// Those of this process.
  static var live: Surroundings {
    Surroundings(
      uid: geteuid(),
      user: unsafe getpwuid(geteuid()).map { unsafe String(cString: $0.pointee.pw_name) },
      program: ownProgram(),
      environment: environmentVariable,
      file: { path in
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return File(
          owner: status.st_uid, mode: status.st_mode & 0o7777,
          identity: [UInt64(status.st_dev), UInt64(status.st_ino)])
      },
      freeBytes: { path in
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize)
      },
      lines: linesPrinted)
  }
}

extension Surroundings {
  /// Where a program is along PATH.
  func path(of program: String) -> String? {
    KistCommands.path(of: program, in: environment("PATH")) { path in
      file(path).map { $0.mode & 0o111 != 0 } ?? false
    }
  }

  /// kistd, which stands beside this program, or else is on PATH.
  var daemonProgram: String? {
    let sibling = directory(of: program) + "/kistd"
    return file(sibling) == nil ? path(of: "kistd") : sibling
  }

  /// The directory of kist for one kind of its files (XDG Base Directory Specification).
  func kistDirectory(_ variable: String, _ standard: String) -> String? {
    if let path = environment(variable), path.hasPrefix("/") { return path + "/kist" }
    return environment("HOME").map { "\($0)/\(standard)/kist" }
  }
}

/// The path of this program: proc(5).
func ownProgram() -> String {
  guard let path = unsafe realpath("/proc/self/exe", nil) else { return CommandLine.programName }
  defer { unsafe free(path) }
  return unsafe String(cString: path)
}
