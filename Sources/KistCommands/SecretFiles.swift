internal import CLinux
internal import Glibc
internal import KistClient
internal import KistInterop
internal import KistSystem

/// Files with secrets, in a new directory on a file system in memory.
///
/// They are never on a disk.
struct SecretFiles {
  private let directory: String
  private var names: [String] = []

  /// Writes a file for each setting, with the name of the variable; throws if no file system in
  /// memory is usable.
  init(_ settings: [Setting], under directories: [String]) throws(StorageError) {
    directory = try Self.makeDirectory(under: directories)
    for setting in settings {
      do throws(StorageError) {
        try writeNewFile(path(of: setting.name), setting.value)
        names.append(setting.name)
      } catch {
        remove()
        throw error
      }
    }
  }

  /// The variables with the paths of the files.
  var settings: [Setting] {
    names.map { Setting(name: $0, value: Secret(utf8: path(of: $0))) }
  }

  /// Removes the directory, including files that the command created in it.
  func remove() { unsafe kist_remove_directory(directory) }

  private func path(of name: String) -> String { "\(directory)/\(name)" }

  /// The directories for files in memory, the preferred one first.
  ///
  /// The first two belong to the user, and are removed at the end of the session. All users can
  /// write to the last one, as to /tmp, but they cannot remove or replace files of other users
  /// there.
  static var usualDirectories: [String] {
    [environmentVariable("XDG_RUNTIME_DIR"), "/run/user/\(geteuid())", sharedMemory]
      .compactMap(\.self)
  }

  private static let sharedMemory = "/dev/shm"

  private static func makeDirectory(
    under directories: [String]
  ) throws(StorageError) -> String {
    let usable = directories.filter { $0.hasPrefix("/") && isInMemory($0) && isSafe($0) }
    for directory in usable {
      if let path = makeTemporaryDirectory("\(directory)/kist-run.") { return path }
    }
    throw .refused(
      "kist cannot make the files of --file: there is no directory in memory that is safe to use",
      as: .unavailable,
      hint: "set XDG_RUNTIME_DIR to a directory on a tmpfs, which is yours and has mode 700; "
        + "or pass the secret with --env")
  }

  /// Whether other users cannot replace the files that this user creates in a directory.
  private static func isSafe(_ path: String) -> Bool {
    guard let status = fileStatus(of: path) else { return false }
    let isShared = path == sharedMemory && status.st_mode & S_ISVTX != 0
    return status.isPrivate || isShared && [0, geteuid()].contains(status.st_uid)
  }

  /// Whether a directory is on a file system in memory: statfs(2).
  private static func isInMemory(_ path: String) -> Bool {
    let (tmpfs, ramfs) = (0x0102_1994, 0x8584_58f6)
    var status = statfs()
    guard unsafe statfs(path, &status) == 0 else { return false }
    return [tmpfs, ramfs].contains(Int(status.f_type))
  }
}
