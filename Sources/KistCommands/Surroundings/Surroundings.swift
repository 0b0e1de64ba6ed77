internal import Glibc
internal import KistCore
internal import KistSystem

/// The environment of commands, apart from kistd.
package struct Surroundings: Sendable {
  /// The properties of a file.
  package struct File: Sendable, Equatable {
    package var owner: UInt32
    /// Its permissions, such as 0o700.
    package var mode: UInt32
    /// The identity of the file: its device and its inode number.
    package var identity: [UInt64]

    package init(owner: UInt32, mode: UInt32, identity: [UInt64]) {
      self.owner = owner
      self.mode = mode
      self.identity = identity
    }
  }

  package var uid: UInt32
  /// The name of that user, if there is one.
  package var user: String?
  /// The path of this program.
  package var program: String
  package var environment: @Sendable (String) -> String?
  /// Returns the file at a path, following symbolic links; `nil` if there is none or it is not
  /// visible.
  package var file: @Sendable (String) -> File?
  /// Returns the names in a directory.
  package var names: @Sendable (String) -> [String]
  /// Returns the bytes that are free for the user on the disk of a path.
  package var freeBytes: @Sendable (String) -> UInt64?
  /// Returns the lines that another program prints on standard output; none if it cannot run.
  package var lines: @Sendable ([String]) -> [String]

  package init(
    uid: UInt32, user: String?, program: String,
    environment: @escaping @Sendable (String) -> String?,
    file: @escaping @Sendable (String) -> File?,
    names: @escaping @Sendable (String) -> [String],
    freeBytes: @escaping @Sendable (String) -> UInt64?,
    lines: @escaping @Sendable ([String]) -> [String]
  ) {
    self.uid = uid
    self.user = user
    self.program = program
    self.environment = environment
    self.file = file
    self.names = names
    self.freeBytes = freeBytes
    self.lines = lines
  }
}

extension Surroundings {
  /// The environment of this process.
  static var live: Surroundings {
    Surroundings(
      uid: geteuid(),
      user: ownUserName(),
      program: ownProgram(),
      environment: environmentVariable,
      file: { path in
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return File(
          owner: status.st_uid, mode: status.st_mode & 0o7777,
          identity: [UInt64(status.st_dev), UInt64(status.st_ino)])
      },
      names: KistSystem.names(in:),
      freeBytes: { path in
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize)
      },
      lines: linesPrinted)
  }
}

extension Surroundings {
  /// Returns the path of a program found in PATH.
  func path(of program: String) -> String? {
    KistCommands.path(of: program, in: environment("PATH")) { path in
      file(path).map { $0.mode & 0o111 != 0 } ?? false
    }
  }

  /// The path of kistd: beside this program, or else on PATH.
  var daemonProgram: String? {
    let sibling = directory(of: program) + "/kistd"
    return file(sibling) == nil ? path(of: "kistd") : sibling
  }

  /// Returns the value of a variable that is set and not empty.
  func value(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }

  /// The key file that kistd uses without options.
  var keyFile: String? {
    value("KISTD_KEY_FILE") ?? kistDirectory("XDG_STATE_HOME", ".local/state").map { $0 + "/key" }
  }

  /// Returns the directory for one kind of kist's files (XDG Base Directory Specification).
  func kistDirectory(_ variable: String, _ standard: String) -> String? {
    if let path = environment(variable), path.hasPrefix("/") { return path + "/kist" }
    return environment("HOME").map { "\($0)/\(standard)/kist" }
  }
}

/// Returns the path of this program: proc(5).
func ownProgram() -> String {
  guard let path = unsafe realpath("/proc/self/exe", nil) else { return CommandLine.programName }
  defer { unsafe free(path) }
  return unsafe String(cString: path)
}

/// Returns the user's name from passwd(5), else from `USER`.
///
/// It does not call getpwuid(3), which loads modules of the C library that crash a static program.
private func ownUserName() -> String? {
  let file = regularFile("/etc/passwd", upTo: 1 << 20, "the list of users")
  let lines = file?.withBytes { String(repairing: $0) }.split(separator: "\n") ?? []
  for line in lines {
    let fields = line.split(separator: ":", omittingEmptySubsequences: false)
    if fields.count > 2, fields[2] == "\(geteuid())" { return String(fields[0]) }
  }
  return environmentVariable("USER")
}
