internal import Glibc
internal import KistCore
internal import KistSystem

/// An open file, closed when the value is destroyed.
struct Descriptor: ~Copyable {
  let number: CInt

  private init(number: CInt) { self.number = number }

  deinit { close(number) }

  /// Opens a file, or throws the system's error.
  ///
  /// It never follows a link, and `exec` closes the descriptor.
  static func open(_ path: String, _ flags: CInt) throws(StorageError) -> Descriptor {
    let number = unsafe Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw .system("opening", path: path) }
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

  /// Waits until the file is on disk.
  func flush(path: String) throws(StorageError) {
    if fsync(number) != 0 { throw .system("flushing", path: path) }
  }

  /// Writes at an offset, or at the current position.
  func write(_ bytes: Span<UInt8>, at offset: Int? = nil, path: String) throws(StorageError) {
    let failure = writeAll(bytes, to: number, at: offset)
    // The files are a few bytes long, so a limit of their size means no more than a full disk.
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
    let failure = bytes.append(upTo: count) { readAll(into: &$0, from: number, at: offset) }
    if failure != 0 { throw .system("reading", path: path, errno: failure) }
    return Secret(bytes)
  }
}
