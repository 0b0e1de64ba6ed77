package import Glibc

/// Returns the status of the file that a path leads to; `nil` on failure, and `errno` says why.
package func fileStatus(of path: String) -> stat? { status { unsafe stat(path, &$0) } }

/// Returns the status of a file, without following a symbolic link; `nil` on failure (`errno`).
package func fileStatus(ofLink path: String) -> stat? { status { unsafe lstat(path, &$0) } }

/// Returns the status of an open file; `nil` on failure, and `errno` says why.
package func fileStatus(of descriptor: CInt) -> stat? { status { unsafe fstat(descriptor, &$0) } }

private func status(_ read: (inout stat) -> CInt) -> stat? {
  var status = stat()
  return read(&status) == 0 ? status : nil
}

extension stat {
  /// Returns whether the file is of a kind such as `S_IFREG`.
  package func isKind(_ kind: mode_t) -> Bool { st_mode & S_IFMT == kind }

  /// The permissions, such as 0o600.
  package var permissions: mode_t { st_mode & 0o7777 }

  /// Whether the file belongs to this user, and other users have no permissions.
  package var isPrivate: Bool { st_uid == geteuid() && st_mode & 0o077 == 0 }

  /// Returns whether this and another status describe the same file.
  package func isSameFile(as other: stat) -> Bool {
    st_dev == other.st_dev && st_ino == other.st_ino
  }
}

/// Returns whether a descriptor is a file of this user that no other user may read.
package func isPrivateFile(_ descriptor: CInt) -> Bool {
  fileStatus(of: descriptor).map { $0.isKind(S_IFREG) && $0.isPrivate } ?? false
}

/// Returns whether a descriptor is a socket, or a pipe that only its owner may open.
///
/// A named pipe may have any mode. An unnamed pipe always has mode 0600, so it always passes.
package func isPrivatePipe(_ descriptor: CInt) -> Bool {
  guard let status = fileStatus(of: descriptor) else { return false }
  return status.isKind(S_IFSOCK) || status.isKind(S_IFIFO) && status.st_mode & 0o077 == 0
}

/// Writes all bytes at an offset, or at the current position; returns an error number, or 0.
package func writeAll(_ bytes: Span<UInt8>, to descriptor: CInt, at offset: Int? = nil) -> CInt {
  var written = 0
  while written < bytes.count {
    let count = unsafe bytes.extracting(written...).withUnsafeBufferPointer { rest in
      if let offset {
        unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + written))
      } else {
        unsafe write(descriptor, rest.baseAddress, rest.count)
      }
    }
    if count >= 0 { written += count } else if errno != EINTR { return errno }
  }
  return 0
}

/// Fills the output from an offset, or from the current position; returns an error number, or 0.
///
/// If the file ends earlier, the output is not full.
package func readAll(
  into output: inout OutputSpan<UInt8>, from descriptor: CInt, at offset: Int? = nil
) -> CInt {
  var position = offset
  while !output.isFull {
    let count = unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
      let rest = unsafe UnsafeMutableBufferPointer(rebasing: buffer[filled...])
      let count =
        if let position {
          unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(position))
        } else {
          unsafe read(descriptor, rest.baseAddress, rest.count)
        }
      filled += max(count, 0)
      return count
    }
    if count == 0 { return 0 }
    if count < 0, errno != EINTR { return errno }
    position = position.map { $0 + max(count, 0) }
  }
  return 0
}

/// Returns the bytes of a range of a file; fewer if the file ends earlier or cannot be read.
package func bytes(of descriptor: CInt, _ range: Range<Int>) -> [UInt8] {
  // For an empty array, the initializer would write to memory that all empty arrays share, which is
  // a data race.
  guard !range.isEmpty else { return [] }
  return [UInt8](capacity: range.count) { output in
    _ = readAll(into: &output, from: descriptor, at: range.lowerBound)
  }
}

/// Returns the text of a file in /proc, of at most one page; `nil` if it cannot be read.
package func text(ofProcFile path: String) -> String? {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  let text = bytes(of: descriptor, 0..<4096)
  return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
}

/// Locks an open file; returns `false` on failure, and `errno` says why.
///
/// While another process holds the lock, tries again every 10 ms, by default for a quarter of a
/// second. This is because a process that only checks the lock also holds it for a moment.
package func takeLock(_ descriptor: CInt, _ kind: CInt = LOCK_EX, attempts: Int = 25) -> Bool {
  for attempt in 1...attempts {
    if flock(descriptor, kind | LOCK_NB) == 0 { return true }
    guard errno == EWOULDBLOCK || errno == EINTR else { return false }
    if attempt < attempts { usleep(10_000) }
  }
  return false
}

/// Replaces the content of a lock file with a text for other processes to read.
///
/// Returns `false` if the file cannot be written, and `errno` says why. The text is only
/// information: without disk space, the file is left empty, and the lock is still held.
package func writeLockText(_ text: String, to descriptor: CInt) -> Bool {
  let bytes = Array(text.utf8)
  // Overwrites the old content, whose space is already allocated.
  let count = unsafe pwrite(descriptor, bytes, bytes.count, 0)
  guard count >= 0 || isFull(errno) else { return false }
  // An empty file is better than half a text, or the text of a previous owner.
  return ftruncate(descriptor, count == bytes.count ? off_t(count) : 0) == 0 || isFull(errno)
}

/// Returns the path of the socket of the kistd that holds a lock; `nil` if no kistd holds it.
///
/// - Parameter lockPath: The path of a file that contains the path of kistd's socket as text. kistd
///   locks this file while it serves a storage (`Claim` of KistDaemon). It is not the lock file of the
///   store.
package func socketPath(ofKistdHolding lockPath: String) -> String? {
  guard let file = try? openOwnFile(lockPath, O_RDONLY) else { return nil }
  defer { close(file) }
  guard flock(file, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
  let path = bytes(of: file, 0..<4096).prefix { $0 != UInt8(ascii: "\n") }
  return path.isEmpty ? nil : String(decoding: path, as: UTF8.self)
}
