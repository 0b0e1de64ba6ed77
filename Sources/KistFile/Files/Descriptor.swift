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
    var status = stat()
    guard unsafe fstat(number, &status) == 0 else { throw .system("looking at", path: path) }
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

  func write(_ bytes: Span<UInt8>, path: String) throws(StorageError) {
    let written = unsafe bytes.withUnsafeBytes { bytes in
      unsafe Glibc.write(number, bytes.baseAddress, bytes.count)
    }
    // The files are a few bytes long, so a partial write means a full disk.
    if written != bytes.count {
      throw .system("writing", path: path, errno: written < 0 ? errno : ENOSPC)
    }
  }

  /// Reads from the current position until the output is full or the file ends.
  func read(into output: inout OutputSpan<UInt8>, path: String) throws(StorageError) {
    while !output.isFull {
      let count = unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
        let count = unsafe Glibc.read(
          number, buffer.baseAddress! + filled, buffer.count - filled)
        filled += max(count, 0)
        return count
      }
      if count < 0 { throw .system("reading", path: path) }
      if count == 0 { return }
    }
  }
}

extension Descriptor {
  /// Reads at most this many bytes from the current position.
  func read(upTo count: Int, path: String) throws(StorageError) -> [UInt8] {
    var bytes = WipedBytes(capacity: count)
    var failure: StorageError?
    bytes.append(upTo: count) { output in
      do throws(StorageError) { try read(into: &output, path: path) } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes.withBytes { bytes in bytes.indices.map { bytes[$0] } }
  }
}
