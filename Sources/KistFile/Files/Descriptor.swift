internal import Glibc
package import KistCore
internal import KistSystem

/// An open file, closed when the value is destroyed.
struct Descriptor: ~Copyable {
  let number: CInt

  private init(number: CInt) { self.number = number }

  deinit { close(number) }

  /// Opens a file that `exec` closes; throws the system's error, also for a symbolic link.
  static func open(_ path: String, _ flags: CInt) throws(StorageError) -> Descriptor {
    let number = unsafe Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else {
      throw errno == ELOOP ? .unfit(.link, "file", path) : .system("opening", path: path)
    }
    return Descriptor(number: number)
  }

  /// Opens a regular file of this user without blocking, or throws why the file is not usable.
  static func openOwn(_ path: String, _ flags: CInt) throws(UnfitFile) -> Descriptor {
    Descriptor(number: try openOwnFile(path, flags))
  }

  func status(path: String) throws(StorageError) -> stat {
    guard let status = fileStatus(of: number) else { throw .system("looking at", path: path) }
    return status
  }

  /// Sets the mode, regardless of the umask.
  func setMode(_ mode: mode_t, path: String) throws(StorageError) {
    if fchmod(number, mode) != 0 { throw .system("setting the mode of", path: path) }
  }

  func flush(path: String) throws(StorageError) {
    if fsync(number) != 0 { throw .system("flushing", path: path) }
  }

  /// Writes at an offset, or at the current position.
  func write(_ bytes: Span<UInt8>, at offset: Int? = nil, path: String) throws(StorageError) {
    let failure = writeAll(bytes, to: number, at: offset)
    // A limit on file sizes (EFBIG) that refuses these few bytes is reported as a full disk.
    if failure != 0 {
      throw .system("writing", path: path, errno: failure == EFBIG ? ENOSPC : failure)
    }
  }

  /// Reads from an offset, or from the current position, until the output is full or the file ends.
  func read(
    into output: inout OutputSpan<UInt8>, at offset: Int? = nil, path: String
  ) throws(StorageError) {
    let failure = readAll(into: &output, from: number, at: offset)
    if failure != 0 { throw .system("reading", path: path, errno: failure) }
  }

  /// Returns at most this many bytes from an offset, or from the current position.
  func bytes(upTo count: Int, at offset: Int? = nil, path: String) throws(StorageError) -> [UInt8] {
    try [UInt8](capacity: count) { output throws(StorageError) in
      try read(into: &output, at: offset, path: path)
    }
  }

  /// Returns at most this many bytes of a secret from an offset, or from the current position.
  func secret(upTo count: Int, at offset: Int? = nil, path: String) throws(StorageError) -> Secret {
    var bytes = WipedBytes(capacity: count)
    try bytes.append(upTo: count) { output throws(StorageError) in
      try read(into: &output, at: offset, path: path)
    }
    return Secret(bytes)
  }
}

/// Throws unless this is the status of a regular file of this user that has no second name.
///
/// `what` is the name of the file in the error.
func checkAlone(_ status: stat, _ what: String, _ path: String) throws(StorageError) {
  guard status.isKind(S_IFREG) else { throw .unfit(.notRegular, what, path) }
  guard status.st_uid == geteuid() else { throw .unfit(.foreign, what, path) }
  guard status.st_nlink < 2 else { throw .unfit(.hardLink, what, path) }
}

/// Writes a file for this user alone; it is complete and on disk when this returns.
///
/// Returns `false` where the file exists and is not to be replaced.
package func writeWhole(
  _ bytes: Span<UInt8>, to path: String, replacing: Bool
) throws(StorageError) -> Bool {
  let unfinished = "\(path).new-\(UInt64.random(in: .min ... .max))"
  let descriptor = try Descriptor.open(unfinished, O_WRONLY | O_CREAT | O_EXCL)
  defer { unsafe unlink(unfinished) }
  // Without the lock, another process may take the file for a leftover and remove it.
  flock(descriptor.number, LOCK_EX)
  if try descriptor.status(path: unfinished).st_nlink == 0 {
    return try writeWhole(bytes, to: path, replacing: replacing)
  }
  try descriptor.setMode(0o600, path: unfinished)
  try descriptor.write(bytes, path: unfinished)
  try descriptor.flush(path: unfinished)
  if replacing {
    try rename(unfinished, to: path)
    return true
  }
  // Unlike `rename`, `link` fails when the name exists.
  let isWritten = unsafe link(unfinished, path) == 0
  guard isWritten || errno == EEXIST else { throw .system("making", path: path) }
  // Before the flush, so that a power cut after it leaves no second name.
  unsafe unlink(unfinished)
  // Another process may have made the file, and been interrupted before this flush.
  try flushDirectory(of: path)
  try flushNames(of: directory(of: path))
  return isWritten
}

/// Removes the unfinished copies of a file that killed processes left; `false` if some stay.
@discardableResult
package func removeUnfinished(of path: String) -> Bool {
  siblings(of: path, suffixed: ".new-", by: isNumber).count { !removeIfAbandoned($0) } == 0
}

/// Removes an unfinished file, unless a process is writing it; returns whether it was removed.
private func removeIfAbandoned(_ unfinished: String) -> Bool {
  guard let descriptor = try? Descriptor.openOwn(unfinished, O_RDONLY),
    flock(descriptor.number, LOCK_EX | LOCK_NB) == 0
  else { return false }
  return unsafe unlink(unfinished) == 0
}

/// Removes the unfinished copies of all files whose paths begin with a path and a suffix.
func removeUnfinished(ofAll path: String, suffixed suffix: String) {
  let unfinished = siblings(of: path, suffixed: suffix) { word in
    word.split(separator: ".new-", omittingEmptySubsequences: false).dropFirst().map(isNumber)
      == [true]
  }
  for path in unfinished { _ = removeIfAbandoned(path) }
}

private func isNumber(_ word: Substring) -> Bool { UInt64(word).map { "\($0)" == word } ?? false }

/// Returns the paths beside a file whose names add a suffix and a text that the filter accepts.
func siblings(
  of path: String, suffixed suffix: String, by isOne: (Substring) -> Bool
) -> [String] {
  let prefix = path + suffix
  // The paths are relative if the given one is, so that callers can compare them with it.
  let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
  return names(in: directory(of: path)).map { folder + $0 }.filter { name in
    name.hasPrefix(prefix) && isOne(name.dropFirst(prefix.count))
  }
}
