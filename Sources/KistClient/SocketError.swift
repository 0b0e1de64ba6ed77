internal import KistCore

/// What went wrong with a socket.
enum SocketError: Error {
  /// The path does not fit into an address, for what this says of it.
  case badPath(StorageError)
  /// No connection was made, for this `errno`.
  case notConnected(CInt)
  /// Another user's process listens there.
  case notOurs
  /// The peer is gone.
  case ended
  /// The deadline passed.
  case timedOut
  /// The peer's line is over the limit.
  case tooLong
}
