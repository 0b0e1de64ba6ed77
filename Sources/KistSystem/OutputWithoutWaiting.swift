internal import Glibc

/// A pipe or a socket to another process.
///
/// A write never waits for the reader.
package final class OutputWithoutWaiting {
  private let descriptor: CInt
  private let isSocket: Bool

  /// Opens the pipe or the socket that a descriptor of this process leads to.
  ///
  /// Returns `nil` if the descriptor leads to neither.
  package init?(_ shared: CInt) {
    guard let status = fileStatus(of: shared) else { return nil }
    isSocket = status.isKind(S_IFSOCK)
    if isSocket {
      descriptor = fcntl(shared, F_DUPFD_CLOEXEC, 0)
    } else {
      guard status.isKind(S_IFIFO) else { return nil }
      // Opens the pipe again: on the shared descriptor, O_NONBLOCK would also affect the other
      // processes that share it.
      descriptor = unsafe open("/proc/self/fd/\(shared)", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    }
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  /// Returns the number of written bytes; 0 if there is no space until the reader reads; `nil` on
  /// failure.
  ///
  /// The process must ignore SIGPIPE.
  package func write(_ bytes: Span<UInt8>) -> Int? {
    let count = unsafe bytes.withUnsafeBufferPointer { bytes in
      isSocket
        ? unsafe send(
          descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
        : unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    }
    if count >= 0 { return count }
    return errno == EAGAIN || errno == EINTR ? 0 : nil
  }
}
