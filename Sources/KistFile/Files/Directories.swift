internal import Glibc
internal import KistCore
internal import KistSystem

/// Makes the directory of a file, and those above it, for this user alone; refuses one that others
/// own or may write, because they could replace what is in it.
func prepareDirectory(of path: String) throws(StorageError) {
  let directory = directory(of: path)
  guard makeDirectory(directory) else {
    throw .system("making the directory", path: directory)
  }
  var status = stat()
  guard unsafe stat(directory, &status) == 0 else {
    throw .system("looking at", path: directory)
  }
  guard status.st_uid == geteuid() else {
    throw StorageError(
      .denied, "the directory \(directory) belongs to another user",
      hint: "`chown` it to the user of kistd, or use another one")
  }
  guard status.st_mode & 0o022 == 0 else {
    throw StorageError(
      .denied, "others may write to the directory \(directory)",
      hint: "`chmod 700 \(shellQuoted(directory))`, or use another one")
  }
}

/// Waits until the names in the directory of a file are on disk.
func flushDirectory(of path: String) throws(StorageError) {
  let directory = directory(of: path)
  // The directory itself may be a link, to a larger disk for example.
  try Descriptor.open(directory + "/.", O_RDONLY | O_DIRECTORY).flush(path: directory)
}

/// Waits until a name is on disk, and with it those of this user's directories that it is in: who made
/// them may not have waited, or may have been cut off.
///
/// A directory that may not be read is passed over with those above it; it was made by somebody else.
func flushNames(of path: String) throws(StorageError) {
  let directory = directory(of: path)
  let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard descriptor >= 0 else {
    if errno == EACCES { return }
    throw .system("opening", path: directory)
  }
  defer { close(descriptor) }
  // Where nothing is on a disk, as in a directory of automounts, there is nothing to flush.
  guard fsync(descriptor) == 0 || errno == EINVAL else {
    throw .system("flushing", path: directory)
  }
  var status = stat()
  guard unsafe fstat(descriptor, &status) == 0 else {
    throw .system("looking at", path: directory)
  }
  if directory != path, status.st_uid == geteuid() { try flushNames(of: directory) }
}

/// Gives a file another name, at once and on disk.
func rename(_ path: String, to newPath: String) throws(StorageError) {
  guard unsafe Glibc.rename(path, newPath) == 0 else { throw .system("renaming", path: path) }
  try flushDirectory(of: newPath)
}

/// Whether there is anything of this name, a dangling link included.
func exists(_ path: String) throws(StorageError) -> Bool {
  unsafe try status(of: path, by: lstat) != nil
}

/// Whether a regular file is at a path, behind symbolic links.
func isRegularFile(_ path: String) throws(StorageError) -> Bool {
  guard let status = unsafe try status(of: path, by: stat) else { return false }
  return status.st_mode & S_IFMT == S_IFREG
}

/// Whether there is a file of this name that has anything in it.
func isFilled(_ path: String) throws(StorageError) -> Bool {
  guard let status = unsafe try status(of: path, by: lstat) else { return false }
  return status.st_size > 0
}

/// What there is at a path; `nil` where nothing is, and an error where that cannot be seen.
private func status(
  of path: String, by look: (UnsafePointer<CChar>, UnsafeMutablePointer<stat>) -> CInt
) throws(StorageError) -> stat? {
  var status = stat()
  if unsafe look(path, &status) == 0 { return status }
  if errno == ENOENT || errno == ENOTDIR { return nil }
  throw .system("looking at", path: path)
}
