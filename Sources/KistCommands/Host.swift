internal import Glibc
internal import KistCore
internal import KistInterop
internal import KistSystem

/// The machine, as a command sees it without kistd: files, programs and variables.
///
/// Tests replace it.
struct Host: Sendable {
  struct File: Sendable, Equatable {
    var owner: UInt32
    /// Its permissions, such as 0o700.
    var mode: UInt32
    /// The identity of the file: its device and its inode number.
    var identity: [UInt64]
    var isDirectory = true
  }

  var uid: UInt32
  /// The name of that user, if there is one.
  var user: String?
  var program: String
  var environment: @Sendable (String) -> String?
  /// Returns the file at a path, following symbolic links; `nil` if none is visible.
  var file: @Sendable (String) -> File?
  var names: @Sendable (String) -> [String]
  /// Returns the bytes that are free for the user on the disk of a path.
  var freeBytes: @Sendable (String) -> UInt64?
  /// Reads the beginning of a file, of at most this many bytes, that may have secrets.
  var homeFile: @Sendable (_ path: String, _ limit: Int) -> HomeFile
  /// Returns the lines that another program prints on standard output; none if it cannot run.
  var lines: @Sendable ([String]) -> [String]
}

extension Host {
  static var live: Host {
    Host(
      uid: geteuid(), user: ownUserName(),
      program: realPath("/proc/self/exe") ?? CommandLine.programName,
      environment: environmentVariable,
      file: { path in
        fileStatus(of: path).map { status in
          File(
            owner: status.st_uid, mode: status.permissions,
            identity: [UInt64(status.st_dev), UInt64(status.st_ino)],
            isDirectory: status.isKind(S_IFDIR))
        }
      }, names: KistSystem.names(in:),
      freeBytes: { path in
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize)
      },
      homeFile: { path, limit in
        // A path outside of the home directory comes from a variable, so the user named its directory.
        let home = environmentVariable("HOME") ?? "/"
        return path.hasPrefix(home + "/")
          ? KistCommands.homeFile(String(path.dropFirst(home.count)), in: home, upTo: limit)
          : KistCommands.homeFile(
            String(path.split(separator: "/").last ?? ""), in: directory(of: path), upTo: limit)
      }, lines: linesPrinted)
  }

  func path(of program: String) -> String? {
    KistSystem.path(of: program, in: environment("PATH")) { path in
      file(path).map { $0.mode & 0o111 != 0 } ?? false
    }
  }

  /// The path of kistd: beside this program, or else on PATH.
  var daemonProgram: String? {
    let sibling = directory(of: program) + "/kistd"
    return file(sibling) == nil ? path(of: "kistd") : sibling
  }

  func value(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }

  /// docker's configuration, for the user to read.
  var dockerFile: String {
    value("DOCKER_CONFIG").map { $0 + "/config.json" } ?? "~/.docker/config.json"
  }

  /// The key file that kistd uses without options.
  var keyFile: String? {
    value("KISTD_KEY_FILE") ?? kistDirectory("XDG_STATE_HOME", ".local/state").map { $0 + "/key" }
  }

  /// The directory of the store that kistd uses without options.
  var dataDirectory: String? {
    value("KISTD_DATA") ?? kistDirectory("XDG_DATA_HOME", ".local/share")
  }

  /// The file that names the socket of the kistd that serves the storage.
  var claimFile: String? {
    let directory = value("KISTD_DATA") ?? kistDirectory("XDG_STATE_HOME", ".local/state")
    return directory.map { $0 + "/served" }
  }

  /// Returns the directory for one kind of kist's files (XDG Base Directory Specification).
  func kistDirectory(_ variable: String, _ standard: String) -> String? {
    if let path = environment(variable), path.hasPrefix("/") {
      return path.appendingPath("kist")
    }
    return environment("HOME").map { $0.appendingPath(standard + "/kist") }
  }

  /// The target of a link to kist, in shell syntax: the kist on PATH, or else this program.
  var linkTarget: String {
    path(of: "kist") == nil ? shellQuoted(program) : #""$(command -v kist)""#
  }

  /// Returns a hint for installing the program that a tool uses to ask kist, if it is not on PATH.
  func hint(atMissing name: String) -> String {
    let link = "`\(linkCommand(name, in: "~/.local/bin", to: linkTarget))`"
    let folder = environment("HOME").map { "\($0)/.local/bin" }
    if let folder, programDirectories(environment("PATH")).contains(folder) {
      return "make the link in a directory of PATH: \(link)"
    }
    let put = #"`export PATH="$HOME/.local/bin:$PATH"`, here and in ~/.profile"#
    if let folder, file("\(folder)/\(name)") != nil {
      return "it is in ~/.local/bin; add that directory to PATH: \(put)"
    }
    return "make the link: \(link); then add its directory to PATH: \(put)"
  }
}

/// Returns the user's name from passwd(5), else from `USER`.
///
/// Does not call getpwuid(3), because that loads modules of the C library, which crash a static
/// program.
private func ownUserName() -> String? {
  let file = try? readRegularFile("/etc/passwd", upTo: 1 << 20, "the list of users")
  let lines = file?.withBytes { String(repairing: $0) }.split(separator: "\n") ?? []
  for line in lines {
    let fields = line.split(separator: ":", omittingEmptySubsequences: false)
    if fields.count > 2, fields[2] == "\(geteuid())" { return String(fields[0]) }
  }
  return environmentVariable("USER")
}
