internal import Glibc
package import KistCore
internal import KistSystem

/// The program that listens at a socket, as its clients know it.
package struct ListeningProgram: Sendable {
  /// Converts a failure of a socket to the error that a caller gets.
  ///
  /// `wasSent` says whether any byte of the request was sent. If so, and the request is a change, the
  /// program may have made it.
  package typealias Conversion =
    @Sendable (_ error: SocketError, _ path: String, _ timeout: Duration, _ wasSent: Bool) ->
    StorageError

  /// The maximum number of bytes of a line that it sends, without its newline.
  let lineLimit: Int
  let storageError: Conversion

  package init(lineLimit: Int, storageError: @escaping Conversion) {
    self.lineLimit = lineLimit
    self.storageError = storageError
  }

  /// kistd.
  package static let kistd = ListeningProgram(lineLimit: Limits.line) {
    kistdError(for: $0, at: $1, timeout: $2, wasSent: $3)
  }
}

/// A failure of a socket.
package enum SocketError: Error {
  /// The path is not valid, or the program could not be started, for the reason in the error.
  case refused(StorageError)
  /// The connection failed, with this `errno`.
  case notConnected(CInt)
  /// Another user's process listens there.
  case notOurs
  /// In this user namespace, other users may have the same uid as this process
  /// (`isOwnUserUnambiguous`).
  case ownUserUnknown
  /// The program at the other end closed the connection.
  case ended
  /// The deadline passed.
  case timedOut
  /// The received line exceeds the limit.
  case tooLong

  /// Whether no process listens at the path.
  package var meansNothingListens: Bool {
    guard case .notConnected(let code) = self else { return false }
    return [ENOENT, ENOTDIR, ECONNREFUSED].contains(code)
  }
}

/// Converts a failure of the socket at a path to the error that a caller gets.
///
/// - Parameter wasSent: whether any byte of the request was sent. If so, and the request is a change,
///   kistd may have made it.
private func kistdError(
  for error: SocketError, at path: String, timeout: Duration, wasSent: Bool
) -> StorageError {
  switch error {
  case .refused(let error): error
  case _ where error.meansNothingListens: nothingListening(at: path)
  case .notConnected(EACCES), .notConnected(EPERM):
    .foreignRuntimeDirectory(of: path)
      ?? StorageError(
        .denied, "you may not use the socket \(path)",
        hint: remedyForClosedDirectory(of: path) ?? "kistd serves only the user that it runs as")
  case .notOurs:
    StorageError(
      .denied, "another user's process listens at \(path)",
      hint: "nothing was sent to it; use a socket in a directory that only you can write to")
  case .ownUserUnknown:
    StorageError(
      .denied,
      "uid \(geteuid()) represents every unmapped user in this user namespace, so the process that "
        + "listens at \(path) may be another user's",
      hint: "nothing was sent to it; use a user that is mapped in this user namespace")
  case .notConnected(let code):
    StorageError(.unavailable, "cannot connect to \(path): \(systemText(of: code))")
  case .ended:
    StorageError(
      .unavailable, "the connection to kistd ended",
      hint: "`kist status` shows whether kistd still runs")
  case .timedOut:
    StorageError(
      .timeout, "kistd did not answer within \(timeout)",
      hint: "check whether kistd still runs, and its log")
  case .tooLong: .internal("kistd answered with a line over the limit of \(Limits.line) bytes")
  }
}
