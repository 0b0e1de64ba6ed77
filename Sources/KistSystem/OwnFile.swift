internal import Glibc

/// The reason why a file is refused.
package enum UnfitFile: Error, Equatable {
  /// It cannot be opened, or its directory's status cannot be read; the error number gives the
  /// reason.
  case notOpened(CInt)
  /// It is a symbolic link.
  case link
  /// It is a FIFO, a directory, a socket or a device.
  case notRegular
  /// It has a second name (a hard link), so a change would also appear under that name.
  case hardLink
  /// It belongs to another user.
  case foreign
  /// Its directory belongs to another user who is not root.
  case foreignDirectory
  /// Its directory is open to other users: they can write to it.
  case openDirectory
}

extension UnfitFile {
  /// Whether the file is missing.
  package var isMissing: Bool { [.notOpened(ENOENT), .notOpened(ENOTDIR)].contains(self) }

  /// The fault, as a clause that follows the path.
  package var clause: String {
    switch self {
    case .notOpened(let number): "cannot be opened: \(systemText(of: number))"
    case .link: "is a symbolic link"
    case .notRegular: "is not a regular file"
    case .hardLink: "is a hard link, so kistd would also change the file with the other name"
    case .foreign: "belongs to another user"
    case .foreignDirectory: "is in a directory that belongs to another user"
    case .openDirectory: "is in a directory that other users may write to"
    }
  }

  /// Returns how the user can fix the file at a path.
  package func remedy(for path: String) -> String {
    switch self {
    case .notOpened(EACCES) where modeAllows(path):
      "restart kistd: it cannot open a directory that was replaced or mounted after its start"
    case .notOpened(EACCES) where fileStatus(ofLink: path).map { $0.st_uid != geteuid() } ?? false:
      "it belongs to another user: move it away, or `chown` it to the user of kistd"
    case .notOpened(EACCES) where fileStatus(ofLink: path) == nil && errno == ENOENT:
      remedyForUnwritable(directory(of: path))
    case .notOpened(EACCES): remedyForClosedDirectory(of: path) ?? chmodOfFile(path)
    case .notOpened(EROFS): "make its file system writable, or name a place on another one"
    case .notOpened: chmodOfFile(path)
    case .link: "replace the link with the file itself"
    case .notRegular: "move it away, or name another file"
    case .hardLink:
      "make it a separate file: `cp -p \(shellQuoted(path)) \(shellQuoted(path)).copy && "
        + "mv \(shellQuoted(path)).copy \(shellQuoted(path))`"
    case .foreign: "move it away, or `chown` it to the user of kistd"
    case .foreignDirectory: "`chown` the directory to the user of kistd, or name another one"
    case .openDirectory: remedyForOpenDirectory(directory(of: path))
    }
  }
}

private func chmodOfFile(_ path: String) -> String {
  "`chmod 600 \(shellQuoted(path))`, and check that you may enter its directory"
}

/// Returns how the user can enter the first directory above a path that is closed to them, if it is one of
/// their own, or in one of their own.
package func remedyForClosedDirectory(of path: String) -> String? {
  var path = path
  while path != "/" {
    path = directory(of: path)
    guard let status = fileStatus(of: path) else { continue }
    guard unsafe access(path, X_OK) != 0 else { return nil }
    return status.st_uid == geteuid()
      ? "`chmod 700 \(shellQuoted(path))`" : remedyForForeignDirectory(path)
  }
  return nil
}

/// Returns how the user can make files in a directory that does not let them.
private func remedyForUnwritable(_ path: String) -> String {
  fileStatus(of: path).map { $0.st_uid == geteuid() } ?? true
    ? "`chmod 700 \(shellQuoted(path))`"
    : "the directory belongs to another user: `chown` it to the user of kistd, or use another one"
}

/// Returns how the user can fix a directory that other users may write to.
///
/// A directory such as /tmp, which is sticky (inode(7)), must stay open to them.
package func remedyForOpenDirectory(_ path: String) -> String {
  guard let status = fileStatus(of: path), status.st_uid == geteuid(), status.st_mode & S_ISVTX == 0
  else { return "name another directory, which only you may write to" }
  return "`chmod 700 \(shellQuoted(path))`, or name another directory"
}

/// Returns how the user can get a directory of another user in one of their own directories; otherwise `nil`.
///
/// Root makes such a directory if it runs kist with the HOME of the user.
package func remedyForForeignDirectory(_ path: String) -> String? {
  guard let status = fileStatus(of: path), status.st_uid != geteuid(),
    fileStatus(of: directory(of: path))?.st_uid == geteuid()
  else { return nil }
  return remedyOfTakingOver(path)
}

/// Returns how the user can get a directory of another user.
package func remedyOfTakingOver(_ path: String) -> String {
  "give it to your user: `sudo chown -R \"$(id -un)\" \(shellQuoted(path))`"
}

/// Returns whether this process may read and write a file according to its mode.
///
/// For a missing file, it checks the directory. access(2) ignores Landlock. So if the mode allows
/// access but open(2) fails, Landlock may be the reason.
private func modeAllows(_ path: String) -> Bool {
  unsafe access(path, R_OK | W_OK) == 0
    || errno == ENOENT && access(directory(of: path), W_OK | X_OK) == 0
}

/// Opens a regular file, following symbolic links; never waits for the other end of a FIFO.
package func openRegularFile(_ path: String, _ flags: CInt) throws(UnfitFile) -> CInt {
  try openWithStatus(path, flags).descriptor
}

/// Opens a regular file of this user, in a directory where only this user and root can replace it.
///
/// Opens no symbolic link, and never waits for the other end of a FIFO. Opens no hard link for
/// writing. With `O_CREAT` it creates a missing file with mode 0600, whatever the umask.
package func openOwnFile(_ path: String, _ flags: CInt) throws(UnfitFile) -> CInt {
  guard let folder = fileStatus(of: directory(of: path)) else { throw .notOpened(errno) }
  guard [geteuid(), 0].contains(folder.st_uid) else { throw .foreignDirectory }
  guard folder.st_mode & 0o022 == 0 else { throw .openDirectory }
  let (descriptor, status) = try openWithStatus(path, flags | O_NOFOLLOW)
  do throws(UnfitFile) {
    guard status.st_uid == geteuid() else { throw .foreign }
    guard status.st_nlink < 2 || flags & O_ACCMODE == O_RDONLY else { throw .hardLink }
    // The umask may have removed permissions, without which the file could not be opened again.
    if flags & O_CREAT != 0, status.st_mode & 0o600 != 0o600 { fchmod(descriptor, 0o600) }
  } catch {
    close(descriptor)
    throw error
  }
  return descriptor
}

private func openWithStatus(
  _ path: String, _ flags: CInt
) throws(UnfitFile) -> (descriptor: CInt, status: stat) {
  let descriptor = unsafe open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0o600)
  guard descriptor >= 0 else {
    switch errno {
    case ELOOP where flags & O_NOFOLLOW != 0: throw .link
    // EISDIR: writing to a directory. ENXIO: opening a socket.
    case EISDIR, ENXIO: throw .notRegular
    default: throw .notOpened(errno)
    }
  }
  guard let status = fileStatus(of: descriptor), status.isKind(S_IFREG) else {
    close(descriptor)
    throw .notRegular
  }
  return (descriptor, status)
}

/// Returns whether only one user has the uid of this process.
///
/// In a user namespace, several users can have the same uid, as `representsOtherUsers` explains.
/// This process then cannot distinguish them from its own user.
package func isOwnUserUnambiguous() -> Bool {
  !representsOtherUsers(
    uid: geteuid(), overflowUID: text(ofProcFile: "/proc/sys/kernel/overflowuid"),
    map: text(ofProcFile: "/proc/self/uid_map"))
}

/// Returns whether several users may have this uid in the user namespace of this process.
///
/// A user namespace may map no uid to some users. The kernel then shows these users with the same
/// uid, the overflow uid (user_namespaces(7), "Unmapped user and group IDs").
///
/// - Parameters:
///   - overflowUID: the text of /proc/sys/kernel/overflowuid; `nil` if it cannot be read.
///   - map: the text of /proc/self/uid_map; `nil` if it cannot be read.
package func representsOtherUsers(
  uid: UInt32, overflowUID: String?, map: @autoclosure () -> String?
) -> Bool {
  guard uid == overflowUID.flatMap({ numbers(in: $0).first }) ?? 65534 else { return false }
  let rows = (map() ?? "").split(separator: "\n").map { numbers(in: $0) }
  return rows.reduce(0) { $0 + UInt64($1.last ?? 0) } < UInt32.max
}

private func numbers(in text: some StringProtocol) -> [UInt32] {
  text.split(whereSeparator: \.isWhitespace).compactMap { UInt32($0) }
}
