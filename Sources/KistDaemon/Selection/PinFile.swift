internal import Glibc
package import KistCore

/// The file that says where credentials are kept.
package struct PinFile: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  /// Reads it; `nil` when there is none.
  package func read() throws(StorageError) -> Pin? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw .pin("read", path)
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw .pin("read", path) }
    return try Pin(String(decoding: bytes.prefix(count), as: UTF8.self), at: path)
  }

  /// Writes it: when this returns, it is on disk, whole.
  package func write(_ pin: Pin) throws(StorageError) {
    let folder = directory(of: path)
    try makeDirectory(folder)
    let new = path + ".new"
    unsafe unlink(new)
    let descriptor = unsafe open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .pin("write", new) }
    defer { close(descriptor) }
    let bytes = Array(pin.text.utf8)
    guard
      unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0,
      unsafe rename(new, path) == 0
    else { throw .pin("write", path) }
    let parent = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard parent >= 0 else { throw .pin("flush", folder) }
    defer { close(parent) }
    guard fsync(parent) == 0 else { throw .pin("flush", folder) }
  }
}

extension StorageError {
  /// What the system refused to do with the pin, read from `errno`.
  fileprivate static func pin(_ action: String, _ path: String) -> StorageError {
    StorageError(
      errno == ENOSPC || errno == EDQUOT
        ? .full : errno == EACCES || errno == EPERM || errno == EROFS ? .denied : .unavailable,
      "cannot \(action) \(path), which says where credentials are kept: \(text(of: errno))",
      hint: "see to the directory, and try again")
  }
}
