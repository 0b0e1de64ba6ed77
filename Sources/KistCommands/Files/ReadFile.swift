internal import Glibc
internal import KistCore
internal import KistSystem

/// Reads a file that the user named, or a FIFO such as `<(…)`; `what` names it in errors.
func readFile(_ path: String, upTo limit: Int, _ what: String) throws(StorageError) -> Secret {
  let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
  guard file >= 0 else { throw .notOpened(what, errno) }
  return try contents(of: file, upTo: limit, what)
}

/// Reads a file that kist finds by itself; returns `nil` if it is not a regular file.
func regularFile(_ path: String, upTo limit: Int, _ what: String) -> Secret? {
  guard let file = try? openRegularFile(path, O_RDONLY) else { return nil }
  return try? contents(of: file, upTo: limit, what)
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
      hint: "see whether its path is right, and who may read it", outcome: .unchanged)
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

/// Joins pieces up to the empty one; `limit` is the limit that an error mentions.
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
