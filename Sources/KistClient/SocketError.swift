internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

/// A failure of a socket.
enum SocketError: Error {
  /// The path does not fit into an address, or is not valid; the error says why.
  case badPath(StorageError)
  /// No connection was made; the value is the `errno`.
  case notConnected(CInt)
  /// Another user's process listens there.
  case notOurs
  /// The peer closed the connection.
  case ended
  /// The deadline passed.
  case timedOut
  /// The peer's line exceeds the limit.
  case tooLong
}

/// Returns the error that a caller gets for a failure of the socket at a path.
func storageError(for error: SocketError, at path: String, patience: Duration) -> StorageError {
  switch error {
  case .badPath(let error): error
  case .notConnected(ENOENT), .notConnected(ENOTDIR), .notConnected(ECONNREFUSED):
    nothingListening(at: path)
  case .notConnected(EACCES), .notConnected(EPERM):
    StorageError(
      .denied, "the socket \(path) may not be used",
      hint: "kistd serves only the user that it runs as")
  case .notOurs:
    StorageError(
      .denied, "another user's process listens at \(path)",
      hint: "nothing was sent to it; use a socket in a directory that only you can write")
  case .notConnected(let code):
    StorageError(.unavailable, "no connection could be made to \(path): \(systemText(of: code))")
  case .ended:
    StorageError(
      .unavailable, "the connection to kistd ended before its reply",
      hint: "see whether it still runs with `kist status`")
  case .timedOut:
    StorageError(
      .timeout, "kistd did not answer within \(patience)",
      hint: "see whether it still runs, and what its log says; a change may have been carried out")
  case .tooLong: .internal("kistd answered with a line over the limit of \(Limits.line) bytes")
  }
}
