internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistTerminal

/// A file of mode 0600 that gets its name when all of it is on the disk.
///
/// Until then it has none, so that nothing is left of a kist that is killed, on all file systems that
/// have this: open(2), O_TMPFILE. On others it has another one, with a number and `.new` behind it; so it
/// has everywhere, for a moment that only SIGKILL ends early, where it replaces a file.
struct NewFile: ~Copyable {
  private let path: String
  private let isReplacing: Bool
  private let temporary: String
  private let isNamed: Bool
  private let file: CInt
  private let folder: CInt

  /// Begins a file in the folder of a path; refuses one where something else than a regular file is,
  /// such as a device or a link.
  ///
  /// - Parameters:
  ///   - replacing: whether a file that is there is replaced; else `conflict` is thrown, here or at the end.
  ///   - permissions: tells those that a file was made with.
  init(
    for path: String, replacing: Bool, permissions: (CInt) -> mode_t = permissions(of:)
  ) throws(StorageError) {
    var status = stat()
    let isThere = unsafe lstat(path, &status) == 0
    guard !isThere || status.st_mode & S_IFMT == S_IFREG else {
      throw StorageError(
        .badRequest, "what is there is no regular file, and is not replaced",
        hint: "name a regular file, or one that is not there yet",
        outcome: .unchanged)
    }
    if !replacing, isThere { throw .fileIsThere }
    // No name that a kist which was killed may have left: it may have had this one's process id.
    let temporary = "\(path).\(UInt32.random(in: .min ... .max)).new"
    // What could not be put on the disk, too, is better not begun.
    let folder = unsafe open(directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw notWritten(errno) }
    let unnamed = unsafe kist_open_unnamed(directory(of: path))
    do throws(StorageError) {
      if unnamed < 0 {
        file = try openNewFile(temporary, permissions: permissions)
      } else {
        try checkPrivate(permissions(unnamed))
        file = unnamed
      }
    } catch {
      if unnamed >= 0 { close(unnamed) }
      close(folder)
      throw error
    }
    self.path = path
    isReplacing = replacing
    self.temporary = temporary
    self.folder = folder
    isNamed = unnamed < 0
  }

  /// Writes at the end of it.
  mutating func append(_ bytes: Secret) throws(StorageError) {
    let failure = writeAll(bytes, to: file)
    if failure != 0 { throw notWritten(failure) }
  }

  /// Gives the file its name, when it is on the disk.
  mutating func finish() throws(StorageError) {
    // A umask may have taken more away than others' permissions.
    guard fchmod(file, 0o600) == 0, fsync(file) == 0 else { throw notWritten(errno) }
    if isReplacing {
      try replace()
    } else if !isLinked(as: path) {
      throw errno == EEXIST ? .fileIsThere : notWritten(errno)
    }
    // Until its folder is on the disk, too, a power cut may take the name away.
    guard fsync(folder) == 0 else {
      throw StorageError(
        .unavailable,
        "the file is there, but may not outlast a power cut: \(systemText(of: errno))",
        hint: "see to the disk, and remove the file or write it again", outcome: .unknown)
    }
  }

  /// Takes the place of the file that is there; a signal that would end kist does so afterwards.
  private func replace() throws(StorageError) {
    let signals = try notedSignals()
    defer {
      let signal = signals.first()
      signals.end()
      if let signal { signals.carryOut(signal) }
    }
    guard isLinked(as: temporary) else { throw notWritten(errno) }
    guard unsafe rename(temporary, path) == 0 else {
      let failure = errno
      unsafe unlink(temporary)
      throw notWritten(failure)
    }
  }

  private func isLinked(as name: String) -> Bool {
    if isNamed { return unsafe name == temporary || link(temporary, name) == 0 }
    let opened = "/proc/self/fd/\(file)"
    return unsafe linkat(AT_FDCWD, opened, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0
  }

  deinit {
    close(file)
    close(folder)
    if isNamed { unsafe unlink(temporary) }
  }
}

/// Opens a file of mode 0600 that is not there yet; leaves none where others may read or write it all the
/// same.
func openNewFile(
  _ path: String, permissions: (CInt) -> mode_t = permissions(of:)
) throws(StorageError) -> CInt {
  let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
  guard file >= 0 else { throw notWritten(errno) }
  do throws(StorageError) { try checkPrivate(permissions(file)) } catch {
    close(file)
    unsafe unlink(path)
    throw error
  }
  return file
}

/// The permissions of an open file; all where that cannot be told.
func permissions(of file: CInt) -> mode_t {
  var status = stat()
  return unsafe fstat(file, &status) == 0 ? status.st_mode & 0o777 : 0o777
}

/// Refuses a file that others may read or write though it was made with mode 0600, before anything is in
/// it: there are file systems, such as vfat, that keep no modes and say nothing.
private func checkPrivate(_ permissions: mode_t) throws(StorageError) {
  guard permissions & 0o077 == 0 else {
    throw StorageError(
      .denied, "the file would have mode \(String(permissions, radix: 8)), open to others",
      hint: "its file system does not keep the mode 600: name a file on another one",
      outcome: .unchanged)
  }
}

func notWritten(_ failure: CInt) -> StorageError {
  StorageError(
    StorageError.Code(failure: failure), "the file cannot be written: \(systemText(of: failure))",
    hint: "what was there is unchanged; the folder must be there, and you must be let into it",
    outcome: .unchanged)
}

extension StorageError {
  /// A file is there that is not to be replaced.
  static var fileIsThere: StorageError {
    StorageError(
      .conflict, "the file is there already",
      hint: "name another one, or have it replaced with `--replace`", outcome: .unchanged)
  }
}
