internal import Glibc
internal import KistCore
internal import KistSystem

/// Reads a file that the user named; `what` names it in errors.
///
/// It may be a FIFO, such as `<(…)` in a shell.
func readFile(_ path: String, upTo limit: Int, _ what: String) throws(StorageError) -> Secret {
  let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
  guard file >= 0 else {
    throw .notOpened(what, errno)
  }
  return try contents(of: file, upTo: limit, what)
}

/// Reads a file that kist finds by itself; returns `nil` if it is not a regular file.
func regularFile(_ path: String, upTo limit: Int, _ what: String) -> Secret? {
  guard let file = try? openRegularFile(path, O_RDONLY) else { return nil }
  return try? contents(of: file, upTo: limit, what)
}

/// Reads a file to its end and closes it.
func contents(
  of file: CInt, upTo limit: Int, _ what: String
) throws(StorageError) -> Secret {
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
