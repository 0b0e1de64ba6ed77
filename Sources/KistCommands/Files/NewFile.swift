internal import CLinux
internal import Glibc
internal import KistClient
internal import KistCore

/// A file of mode 0600 that gets its name when all of it is on the disk.
///
/// Until then it has none, so that nothing is left of a kist that is killed, on all file systems that
/// have this: open(2), O_TMPFILE. On others it has another one.
struct NewFile: ~Copyable {
  private let path: String
  private let temporary: String
  private let isNamed: Bool
  private let file: CInt

  /// Begins a file in the folder of a path; refuses one where something else than a regular file is,
  /// such as a device or a link.
  init(for path: String) throws(StorageError) {
    var status = stat()
    guard unsafe lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
      throw StorageError(
        .badRequest, "what is there is no regular file, and is not replaced",
        hint: "name the file itself; for a pipe or a device, redirect standard output",
        outcome: .unchanged)
    }
    // No name that a kist which was killed may have left: it may have had this one's process id.
    let temporary = "\(path).\(UInt32.random(in: .min ... .max)).new"
    let unnamed = unsafe kist_open_unnamed(Self.folder(of: path))
    let file = unnamed < 0 ? try openNewFile(temporary) : unnamed
    self.path = path
    self.temporary = temporary
    self.file = file
    isNamed = unnamed < 0
  }

  /// Writes at the end of it.
  mutating func append(_ bytes: Secret) throws(StorageError) {
    let failure = writeAll(bytes, to: file)
    if failure != 0 { throw notWritten(failure) }
  }

  /// Gives the file its name, when it is on the disk.
  ///
  /// - Parameter replacing: whether the file that is there is replaced; else `conflict` is thrown.
  mutating func finish(replacing: Bool) throws(StorageError) {
    // A umask may have taken more away than others' permissions.
    guard fchmod(file, 0o600) == 0, fsync(file) == 0 else { throw notWritten(errno) }
    let name = replacing ? temporary : path
    guard isLinked(as: name) else { throw errno == EEXIST ? .fileIsThere : notWritten(errno) }
    if replacing, unsafe rename(temporary, path) != 0 {
      let failure = errno
      unsafe unlink(temporary)
      throw notWritten(failure)
    }
    // Until its folder is on the disk, too, a power cut may take the name away.
    let opened = unsafe open(Self.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(opened) }
    guard opened >= 0, fsync(opened) == 0 else { throw notWritten(errno) }
  }

  private static func folder(of path: String) -> String {
    let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    return end.map { String(path[...$0]) } ?? "."
  }

  private func isLinked(as name: String) -> Bool {
    if isNamed { return unsafe name == temporary || link(temporary, name) == 0 }
    let opened = "/proc/self/fd/\(file)"
    return unsafe linkat(AT_FDCWD, opened, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0
  }

  deinit {
    close(file)
    if isNamed { unsafe unlink(temporary) }
  }
}

/// Opens a file of mode 0600 that is not there yet.
func openNewFile(_ path: String) throws(StorageError) -> CInt {
  let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
  guard file >= 0 else { throw notWritten(errno) }
  return file
}

func notWritten(_ failure: CInt) -> StorageError {
  StorageError(
    .unavailable, "the file cannot be written: \(describe(failure))",
    hint: "what was there is unchanged", outcome: .unchanged)
}

extension StorageError {
  /// A file is there that is not to be replaced.
  static var fileIsThere: StorageError {
    StorageError(
      .conflict, "the file is there already",
      hint: "name another one, or have it replaced with `--replace`", outcome: .unchanged)
  }
}
