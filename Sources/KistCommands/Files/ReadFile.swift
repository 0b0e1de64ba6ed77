internal import Glibc
internal import KistCore
internal import KistSystem

/// Reads a file that a person named; `what` is what an error calls it.
func readFile(_ path: String, upTo limit: Int, _ what: String) throws(StorageError) -> Secret {
  let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
  guard file >= 0 else {
    throw .notOpened(what, errno)
  }
  defer { close(file) }
  return try allPieces(upTo: limit, what) { () throws(StorageError) in
    try nextPiece(of: file, what)
  }
}

extension StorageError {
  /// What a person named cannot be opened; `what` is what the error calls it.
  static func notOpened(_ what: String, _ failure: CInt) -> StorageError {
    StorageError(
      Code(failure: failure), "\(what) cannot be opened: \(systemText(of: failure))",
      hint: "see whether its path is right, and who may read it", outcome: .unchanged)
  }
}
