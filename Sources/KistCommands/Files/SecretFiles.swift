internal import CLinux
internal import Glibc
internal import KistCore
internal import KistInterop
internal import KistSystem

/// Files with secrets that are never on a disk.
///
/// They are in a directory of their own under $XDG_RUNTIME_DIR, which belongs to the user's login.
struct SecretFiles {
  private let directory: String
  private var names: [String] = []

  /// Writes a file for each setting, named like the variable; throws if it would be on a disk.
  init(_ settings: [Setting], under runtimeDirectory: String?) throws(StorageError) {
    directory = try Self.makeDirectory(under: runtimeDirectory)
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

  private static func makeDirectory(under runtimeDirectory: String?) throws(StorageError) -> String
  {
    guard let runtimeDirectory, runtimeDirectory.hasPrefix("/") else {
      throw StorageError(
        .unavailable, "there is no XDG_RUNTIME_DIR for the files of --file",
        hint: "log in with a session, or give the command the secret with --env",
        outcome: .unchanged)
    }
    guard isInMemory(runtimeDirectory) else {
      throw StorageError(
        .unavailable, "XDG_RUNTIME_DIR is not in memory (tmpfs), and secrets are put on no disk",
        hint: "give the secret with --env; for files, kistd and kist need it to be one in memory",
        outcome: .unchanged)
    }
    guard fileStatus(of: runtimeDirectory)?.isPrivate == true else {
      throw StorageError(
        .unavailable, "XDG_RUNTIME_DIR is not for this user alone",
        hint: "it must be this user's and have mode 700; or give the command the secret with --env",
        outcome: .unchanged)
    }
    guard let path = makeTemporaryDirectory("\(runtimeDirectory)/kist-run.") else {
      throw StorageError(
        .unavailable, "there can be no files in XDG_RUNTIME_DIR: \(systemText(of: errno))",
        outcome: .unchanged)
    }
    return path
  }

  /// Whether a directory is on a file system in memory: statfs(2).
  private static func isInMemory(_ path: String) -> Bool {
    let (tmpfs, ramfs) = (0x0102_1994, 0x8584_58f6)
    var status = statfs()
    guard unsafe statfs(path, &status) == 0 else { return false }
    return [tmpfs, ramfs].contains(Int(status.f_type))
  }
}
