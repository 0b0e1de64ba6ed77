internal import Glibc
internal import KistClient
internal import KistCore

/// Reads a file that a person named; `what` is what an error calls it.
func readFile(_ path: String, upTo limit: Int, _ what: String) throws(StorageError) -> Secret {
  let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
  guard file >= 0 else {
    throw StorageError(
      .badRequest, "\(what) cannot be opened: \(describe(errno))", outcome: .unchanged)
  }
  defer { close(file) }
  return try allPieces(upTo: limit, what) { () throws(StorageError) in
    try nextPiece(of: file, what)
  }
}
