internal import KistCore

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
