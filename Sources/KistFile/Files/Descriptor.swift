internal import Glibc
internal import KistCore

/// An open file, closed when it goes.
struct Descriptor: ~Copyable {
  let number: CInt

  private init(number: CInt) { self.number = number }

  deinit { close(number) }

  /// Opens a file, or throws what the system says; never follows a link, never outlives `exec`.
  static func open(_ path: String, _ flags: CInt, mode: mode_t = 0o600) throws(StorageError)
    -> Descriptor
  {
    guard let descriptor = openIfPresent(path, flags, mode: mode) else {
      throw .system("opening", path: path)
    }
    return descriptor
  }

  /// Opens a file, or leaves the reason in `errno`.
  static func openIfPresent(_ path: String, _ flags: CInt, mode: mode_t = 0o600) -> Descriptor? {
    let number = unsafe Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode)
    return number < 0 ? nil : Descriptor(number: number)
  }

  /// What the system knows of the file.
  func status(path: String) throws(StorageError) -> stat {
    var status = stat()
    guard unsafe fstat(number, &status) == 0 else { throw .system("looking at", path: path) }
    return status
  }

  /// Sets the mode whatever the umask.
  func setMode(_ mode: mode_t, path: String) throws(StorageError) {
    if fchmod(number, mode) != 0 { throw .system("setting the mode of", path: path) }
  }

  /// Waits until the file is on disk.
  func flush(path: String) throws(StorageError) {
    if fsync(number) != 0 { throw .system("flushing", path: path) }
  }

  /// Writes all bytes.
  func write(_ bytes: Span<UInt8>, path: String) throws(StorageError) {
    let written = unsafe bytes.withUnsafeBytes { bytes in
      unsafe Glibc.write(number, bytes.baseAddress, bytes.count)
    }
    // Files of a few bytes are written whole, or the disk is full.
    if written != bytes.count {
      throw .system("writing", path: path, errno: written < 0 ? errno : ENOSPC)
    }
  }

  /// Reads from the current position on until the output is full or the file ends.
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
  /// At most so many bytes from the current position on.
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
