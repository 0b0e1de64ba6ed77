internal import Glibc
package import KistCore
internal import KistSystem

/// Creates the directory of a file, and its parents, for this user alone.
///
/// Refuses a directory that others own or may write, because they could replace its files.
func prepareDirectory(of path: String) throws(StorageError) {
  let directory = directory(of: path)
  guard makeDirectory(directory) else { throw .system("making the directory", path: directory) }
  try checkDirectory(directory)
}

/// Throws where others own a directory or may write to it, or where a file is in its place.
///
/// Accepts a missing directory.
func checkDirectory(_ directory: String) throws(StorageError) {
  if let error = StorageError.fileInPlace(of: directory) { throw error }
  guard let status = try existing(directory, fileStatus(of: directory)) else { return }
  guard status.st_uid == geteuid() else {
    throw StorageError(
      .denied, "the directory \(directory) belongs to another user",
      hint: "`chown` it to the user of kistd, or use another one")
  }
  guard status.st_mode & 0o022 == 0 else {
    throw StorageError(
      .denied, "other users may write to the directory \(directory)",
      hint: remedyForOpenDirectory(directory))
  }
}

extension EncryptedFile {
  /// Throws where a start would refuse the directories of a store, or the file that opens it.
  ///
  /// Others could replace a store, a key or a progress note in a directory that they may write to.
  /// Missing files and directories are accepted here; opening the store reports or makes them.
  package static func checkPlaces(_ options: Options) throws(StorageError) {
    try checkDirectory(directory(of: options.path))
    try checkWritable(directory(of: options.path))
    let isNew = try !exists(options.path)
    if !isNew { try checkWritable(store: options.path) }
    try OwnerLock.checkFile(beside: options.path)
    for unfinished in UnfinishedStore.leftovers(of: options.path) { try unfinished.check() }
    // A progress note is optional, so another fault of its directory does not prevent the start.
    if let notes = options.progress?.directory, let status = fileStatus(of: notes),
      status.st_uid == geteuid(), status.isKind(S_IFDIR)
    {
      try checkDirectory(notes)
    }
    switch options.keySource {
    case .keyFile(let path):
      // A new store needs a new key file, if there is none.
      if try KeyFile.read(path) == nil, isNew { try checkWritable(directory(of: path)) }
    case .passphraseFile(let path): _ = try PassphraseFile.read(path)
    case .passphrase, .none: break
    }
  }
}

/// Throws where kistd cannot make files in a directory, or cannot make the directory.
///
/// - Parameter alternative: what else the user can do, for the hint.
package func checkWritable(
  _ directory: String, orElse alternative: String = "use another one"
) throws(StorageError) {
  do throws(UnfitFile) { try checkWritable(directory: directory) } catch {
    if let error = StorageError.fileInPlace(of: directory) { throw error }
    guard case .notOpened(let number) = error else { throw .unfit(error, "directory", directory) }
    let isMissing = fileStatus(of: directory) == nil
    let existing = nearestExisting(directory)
    let advice =
      if !isMissing, number == EROFS {
        "make its file system writable"
      } else if let remedy = remedyForClosedDirectory(of: directory)
        ?? remedyForForeignDirectory(existing)
      {
        remedy
      } else if !isMissing {
        "`chmod 700 \(shellQuoted(directory))`"
      } else if number == EROFS {
        "make it, and let the service write to it with `ReadWritePaths=` if systemd starts kistd"
      } else if fileStatus(of: existing)?.st_uid == geteuid() {
        "make \(existing) writable for kistd"
      } else if let home = environmentVariable("HOME"), directory.hasPrefix(home + "/") {
        "set HOME to a directory that belongs to you"
      } else {
        "let this user write to \(existing)"
      }
    throw StorageError(
      StorageError.Code(errno: number),
      "kistd cannot \(isMissing ? "make" : "write to") the directory \(directory): "
        + systemText(of: number),
      hint: "\(advice), or \(alternative)")
  }
}

private func checkWritable(store path: String) throws(StorageError) {
  guard let status = try existingStatus(ofLink: path) else { return }
  if status.isKind(S_IFLNK) { throw .unfit(.link, "file", path) }
  if status.st_uid != geteuid() { throw .unfit(.foreign, "file", path) }
  guard unsafe access(path, W_OK) != 0 else { return }
  let number = errno
  throw StorageError(
    StorageError.Code(errno: number),
    "kistd cannot write to the store \(path): \(systemText(of: number))",
    hint: number == EROFS
      ? "make its file system writable, or copy the store to another one"
      : "`chmod 600 \(shellQuoted(path))`")
}

/// Waits until the names in the directory of a file are on disk.
func flushDirectory(of path: String) throws(StorageError) {
  let directory = directory(of: path)
  // The directory itself may be a link, for example to a larger disk.
  try Descriptor.open(directory + "/.", O_RDONLY | O_DIRECTORY).flush(path: directory)
}

/// Waits until a file's name is on disk, and the names of this user's directories above it.
///
/// The process that created them may have been interrupted. An unreadable directory and its parents
/// are skipped, because another user created them.
func flushNames(of path: String) throws(StorageError) {
  let directory = directory(of: path)
  let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard descriptor >= 0 else {
    if errno == EACCES { return }
    throw .system("opening", path: directory)
  }
  defer { close(descriptor) }
  // A file system without a disk, such as a directory of automounts, has nothing to flush.
  guard fsync(descriptor) == 0 || errno == EINVAL else {
    throw .system("flushing", path: directory)
  }
  guard let status = fileStatus(of: descriptor) else {
    throw .system("looking at", path: directory)
  }
  if directory != path, status.st_uid == geteuid() { try flushNames(of: directory) }
}

/// Returns the path of a directory without symbolic links.
func realPath(of directory: String) throws(StorageError) -> String {
  guard let path = realPath(directory) else { throw .system("looking at", path: directory) }
  return path
}

/// Renames a file atomically and waits until the name is on disk.
func rename(_ path: String, to newPath: String) throws(StorageError) {
  guard unsafe Glibc.rename(path, newPath) == 0 else { throw .system("renaming", path: path) }
  try flushDirectory(of: newPath)
}

/// Returns whether the path exists, even as a dangling link.
func exists(_ path: String) throws(StorageError) -> Bool {
  try existingStatus(ofLink: path) != nil
}

/// Returns the status of what is at a path, which may be a link; `nil` where there is nothing.
func existingStatus(ofLink path: String) throws(StorageError) -> stat? {
  try existing(path, fileStatus(ofLink: path))
}

/// Returns whether a regular file is at a path, following symbolic links.
func isRegularFile(_ path: String) throws(StorageError) -> Bool {
  try existing(path, fileStatus(of: path))?.isKind(S_IFREG) ?? false
}

/// Returns whether a non-empty file is at a path.
func isFilled(_ path: String) throws(StorageError) -> Bool {
  try existingStatus(ofLink: path).map { $0.st_size > 0 } ?? false
}

/// Returns the status of a path, or `nil` where it does not exist; throws where this is not known.
private func existing(_ path: String, _ status: stat?) throws(StorageError) -> stat? {
  if status != nil || errno == ENOENT || errno == ENOTDIR { return status }
  throw .system("looking at", path: path)
}
