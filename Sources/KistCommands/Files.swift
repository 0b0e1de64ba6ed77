internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistTerminal

/// A new file with mode 0600.
///
/// It gets its name only when all of it is on disk. Until then it has no name, so a kist that is
/// killed leaves no file. This needs a file system with O_TMPFILE (open(2)). On other file systems,
/// the file has a temporary name with a number and `.new`. A file that replaces another one has
/// such a name for a moment on every file system. A SIGKILL at that moment leaves it there.
struct NewFile: ~Copyable {
  private let path: String
  private let isReplacing: Bool
  private let temporary: String
  private let isNamed: Bool
  /// The descriptor of the file, to write to.
  let file: CInt
  private let folder: CInt

  /// Begins a file in the directory of a path.
  ///
  /// Throws if the path leads to something other than a regular file, such as a device or a link.
  /// Throws `conflict` if a file exists, unless `replacing` is true. `finish` checks this again.
  ///
  /// - Parameter permissions: Returns the permissions that a file was created with.
  init(
    for path: String, replacing: Bool, permissions: (CInt) -> mode_t = permissions(of:)
  ) throws(StorageError) {
    let status = fileStatus(ofLink: path)
    guard status?.isKind(S_IFREG) ?? true else {
      throw .refused(
        "the file is not a regular file, and was not replaced",
        hint: "name a regular file, or one that does not exist yet")
    }
    if !replacing, status != nil { throw .fileIsThere }
    // The number is random, because a killed kist with the same process id may have left a file.
    let temporary = "\(path).\(UInt32.random(in: .min ... .max)).new"
    // Opens the directory first. If this fails, the directory could not be flushed to disk later.
    let folder = unsafe open(directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else {
      guard errno == ENOENT else { throw notWritten(errno) }
      throw .noDirectory(KistSystem.directory(of: path))
    }
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

  mutating func append(_ bytes: Secret) throws(StorageError) {
    let failure = bytes.withBytes { writeAll($0, to: file) }
    if failure != 0 { throw notWritten(failure) }
  }

  /// Gives the file its name after its contents are on disk.
  mutating func finish() throws(StorageError) {
    // The umask may have removed permissions of the owner, too.
    guard fchmod(file, 0o600) == 0, fsync(file) == 0 else { throw notWritten(errno) }
    if isReplacing {
      try replace()
    } else if !isLinked(as: path) {
      throw errno == EEXIST ? .fileIsThere : notWritten(errno)
    }
    // Until the directory is on disk, too, a power cut may remove the name.
    guard fsync(folder) == 0 else {
      throw StorageError(
        .unavailable,
        "the file was written, but may not survive a power cut: \(systemText(of: errno))",
        hint: "check the disk, and remove the file or write it again")
    }
  }

  /// Replaces the existing file.
  ///
  /// A signal that would end kist has its effect only after that.
  private func replace() throws(StorageError) {
    let signals = try notedSignals()
    defer {
      let signal = signals.first()
      signals.end()
      if let signal { signals.raiseUnblocked(signal) }
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

/// Creates a file of mode 0600.
///
/// If other users can read or write it nevertheless, removes it and throws.
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

/// Returns the permissions of an open file; all permissions if they are unknown.
func permissions(of file: CInt) -> mode_t {
  fileStatus(of: file).map { $0.st_mode & 0o777 } ?? 0o777
}

/// Throws if other users can read or write a new file that was created with mode 0600.
///
/// Some file systems, such as vfat, ignore modes without an error.
private func checkPrivate(_ permissions: mode_t) throws(StorageError) {
  guard permissions & 0o077 == 0 else {
    throw .refused(
      "the file would have mode \(String(permissions, radix: 8)), open to other users", as: .denied,
      hint: "its file system does not support mode 600: name a file on another file system")
  }
}

func notWritten(_ failure: CInt) -> StorageError {
  let code = StorageError.Code(failure: failure)
  let remedy =
    code == .full
    ? "free some space, and try again"
    : "check that the directory exists and that you may write to it"
  return StorageError(
    code, "the file cannot be written: \(systemText(of: failure))",
    hint: "no file was changed; \(remedy)", outcome: .unchanged)
}

extension StorageError {
  /// The error for a new file in a directory that does not exist.
  static func noDirectory(_ path: String) -> StorageError {
    .refused(
      "the directory \(path) does not exist",
      hint: "no file was written; make it: `mkdir -p \(shellQuoted(path))`")
  }

  /// The error for an existing file that must not be replaced.
  static var fileIsThere: StorageError {
    .refused(
      "the file exists already", as: .conflict,
      hint: "name another file, or replace it with `--replace`")
  }
}

/// Creates a file of mode 0600 that need not be kept after a restart; throws if the file exists.
func writeNewFile(_ path: String, _ content: Secret) throws(StorageError) {
  let file = try openNewFile(path)
  var failure = content.withBytes { writeAll($0, to: file) }
  // The umask may have removed permissions of the owner, too.
  if failure == 0, fchmod(file, 0o600) != 0 { failure = errno }
  if close(file) != 0, failure == 0 { failure = errno }
  guard failure == 0 else {
    unsafe unlink(path)
    throw notWritten(failure)
  }
}

/// Reads a file that the user named, or a FIFO such as `<(…)`; `what` names it in errors.
func readFile(_ path: String, upTo limit: Int, _ what: String) throws(StorageError) -> Secret {
  let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
  guard file >= 0 else { throw .notOpened(what, errno) }
  return try contents(of: file, upTo: limit, what)
}

/// Reads a file that kist finds by itself; never waits for the other end of a FIFO.
func readRegularFile(
  _ path: String, upTo limit: Int, _ what: String
) throws(StorageError) -> Secret {
  let file: CInt
  do throws(UnfitFile) { file = try openRegularFile(path, O_RDONLY) } catch {
    if case .notOpened(let failure) = error { throw .notOpened(what, failure) }
    throw .refused(
      "\(what) \(error.clause)", hint: "nothing was changed; \(error.remedy(for: path))")
  }
  return try contents(of: file, upTo: limit, what)
}

/// Reads a file to its end and closes it.
func contents(of file: CInt, upTo limit: Int, _ what: String) throws(StorageError) -> Secret {
  defer { close(file) }
  return try allPieces(upTo: limit, what) { () throws(StorageError) in
    try nextPiece(of: file, what)
  }
}

extension StorageError {
  /// Returns the error for a path of the user that cannot be opened; `what` names it.
  static func notOpened(_ what: String, _ failure: CInt) -> StorageError {
    StorageError(
      Code(failure: failure), "\(what) cannot be opened: \(systemText(of: failure))",
      hint: "check its path and its permissions", outcome: .unchanged)
  }
}

/// Reads the available bytes of a stream, at most 64 KiB, none at its end; `what` names it.
func nextPiece(of descriptor: CInt, _ what: String) throws(StorageError) -> Secret {
  var bytes = WipedBytes(capacity: 4 << 10)
  while true {
    let count = bytes.append(upTo: 64 << 10) { free in
      unsafe free.withUnsafeMutableBufferPointer { buffer, initializedCount in
        let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
        initializedCount = max(count, 0)
        return count
      }
    }
    if count >= 0 { return Secret(bytes) }
    guard errno == EINTR else {
      throw .refused("\(what) could not be read: \(systemText(of: errno))")
    }
  }
}

/// Joins pieces until one is empty.
///
/// - Parameter limit: the limit that an error mentions.
func allPieces(
  upTo size: Int, _ what: String, limit: Int? = nil, _ nextPiece: () throws(StorageError) -> Secret
) throws(StorageError) -> Secret {
  var bytes = WipedBytes(capacity: 256)
  while true {
    let piece = try nextPiece()
    if piece.isEmpty { return Secret(bytes) }
    guard bytes.count + piece.count <= size else { throw .tooLarge(what, limit: limit ?? size) }
    piece.withBytes { bytes.append($0) }
  }
}

extension StorageError.Code {
  /// Creates the code for a failure (errno(3)) to open a file or directory that the user named.
  init(failure: CInt) {
    self =
      switch failure {
      case EACCES, EPERM, EROFS: .denied
      case ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: .badRequest
      case ENOSPC, EDQUOT: .full
      default: .unavailable
      }
  }
}
