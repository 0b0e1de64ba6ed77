internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

/// A connected Unix socket (unix(7)).
///
/// Its calls block, with deadlines. It is closed when it is released.
final class Socket {
  let descriptor: CInt
  private var received = WipedBytes(capacity: chunk)
  /// What was received of the reply.
  private var splitter: LineSplitter
  private let lineLimit: Int

  /// Whether nothing was received over this connection yet.
  private(set) var isNew = true

  /// The number of bytes of the latest line that were sent.
  ///
  /// If it is 0, kistd received nothing of the line.
  private(set) var bytesSent = 0

  init(
    connectingTo path: String, by deadline: ContinuousClock.Instant, lineLimit: Int = Limits.line
  ) throws(SocketError) {
    self.lineLimit = lineLimit
    splitter = LineSplitter(limit: lineLimit)
    descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .notConnected(errno) }
    // If kistd's queue of new clients is full, connect(2) waits. The timeout for sending also limits
    // this wait.
    try setTimeout(SO_SNDTIMEO, until: deadline)
    do throws(StorageError) { _ = try SocketLocation(path: path) } catch { throw .refused(error) }
    let status = unsafe withAddress(Array(path.utf8)) { address, size -> CInt in
      repeat {
        if unsafe connect(descriptor, address, size) == 0 { return 0 }
      } while errno == EINTR
      return errno
    }
    switch status {
    case 0: try checkListener()
    case EAGAIN: throw .timedOut
    default: throw .notConnected(status)
    }
  }

  /// Checks that the listening process belongs to this user (unix(7), SO_PEERCRED).
  ///
  /// If other users can write to the directory, one of them could listen there and receive the
  /// secret.
  private func checkListener() throws(SocketError) {
    // struct ucred, which Glibc declares only with `_GNU_SOURCE`: pid, uid, gid, 32 bits each.
    var credentials: (pid: UInt32, uid: UInt32, gid: UInt32) = (0, 0, 0)
    var size = socklen_t(MemoryLayout.size(ofValue: credentials))
    guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else {
      throw .notConnected(errno)
    }
    guard credentials.uid == geteuid() else { throw .notOurs }
    guard isOwnUserUnambiguous() else { throw .ownUserUnknown }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Whether kistd is still connected and has sent nothing since its last reply.
  var isReusable: Bool {
    var byte: UInt8 = 0
    let flags = CInt(MSG_PEEK | MSG_DONTWAIT)
    return unsafe recv(descriptor, &byte, 1, flags) < 0 && errno == EAGAIN
  }

  func send(_ line: Line, by deadline: ContinuousClock.Instant) throws(SocketError) {
    bytesSent = 0
    let bytes = line.withNewline
    while bytesSent < bytes.count {
      try setTimeout(SO_SNDTIMEO, until: deadline)
      try sendPiece(bytes)
    }
  }

  /// Sends a short line without waiting; returns whether it was sent.
  func sendAtOnce(_ line: Line) -> Bool {
    // The kernel takes a line of this size whole or not at all, even with the smallest buffer.
    guard line.content.count < 2 << 10 else { return false }
    bytesSent = 0
    splitter = LineSplitter(limit: lineLimit)
    try? sendPiece(line.withNewline, flags: CInt(MSG_DONTWAIT))
    return bytesSent > 0
  }

  private func sendPiece(_ line: borrowing WipedBytes, flags: CInt = 0) throws(SocketError) {
    let count = line.withBytes { bytes in
      unsafe bytes.extracting(bytesSent...).withUnsafeBufferPointer { rest in
        unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL) | flags)
      }
    }
    bytesSent += try transferred(count)
  }

  /// Returns a line that has arrived, such as one that kistd sent without a request.
  func unsolicitedLine() -> Line? { try? receive(by: nil, flags: CInt(MSG_DONTWAIT)).line }

  /// Waits for one line.
  ///
  /// `mustClose` is true if unexpected bytes follow the line, so that the connection must not be
  /// used again.
  func receive(
    by deadline: ContinuousClock.Instant?, flags: CInt = 0
  ) throws(SocketError) -> (line: Line, mustClose: Bool) {
    splitter = LineSplitter(limit: lineLimit)
    while true {
      if let reply = try receivePiece(by: deadline, flags: flags) { return reply }
    }
  }

  /// Takes the next bytes of the reply; returns the reply if it is now complete.
  ///
  /// With `MSG_DONTWAIT`, it takes only bytes that have arrived. Without it, it waits for bytes.
  func receivePiece(
    by deadline: ContinuousClock.Instant? = nil, flags: CInt = CInt(MSG_DONTWAIT)
  ) throws(SocketError) -> (line: Line, mustClose: Bool)? {
    var first: LineSplitter.Event?
    var mustClose = false
    try receivePiece(by: deadline, flags: flags) { bytes in
      splitter.append(bytes) { event in
        mustClose = first != nil
        first = first ?? event
      }
      if let byte = bytes.indices.last, bytes[byte] != UInt8(ascii: "\n") { mustClose = true }
    }
    guard let first else { return nil }
    isNew = false
    guard case .line(let line) = first else { throw .tooLong }
    return (line, mustClose)
  }

  /// Waits for the next bytes and passes them to `body`.
  ///
  /// If a signal interrupts the wait, it passes no bytes. Without a deadline, the wait is
  /// unlimited.
  func receivePiece(
    by deadline: ContinuousClock.Instant?, flags: CInt = 0, _ body: (Span<UInt8>) -> Void
  ) throws(SocketError) {
    if flags & CInt(MSG_DONTWAIT) == 0 { try setTimeout(SO_RCVTIMEO, until: deadline) }
    let count = received.append(upTo: chunk) { free in
      unsafe free.withUnsafeMutableBufferPointer { buffer, initializedCount in
        let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, flags)
        initializedCount = max(count, 0)
        return count
      }
    }
    if count == 0 { throw .ended }
    _ = try transferred(count)
    received.withBytes(body)
    // Wipes the bytes now, because they may be a secret, and the next call may come much later.
    received.removeAll()
  }

  /// Returns the number of bytes that a call sent or received; 0 if a signal interrupted it.
  private func transferred(_ count: Int) throws(SocketError) -> Int {
    if count >= 0 { return count }
    switch errno {
    case EINTR: return 0
    case EAGAIN: throw .timedOut
    default: throw .ended
    }
  }

  private func setTimeout(
    _ option: CInt, until deadline: ContinuousClock.Instant?
  ) throws(SocketError) {
    // A timeout of 0 means no timeout.
    var time = timeval()
    if let deadline {
      let rest = (deadline - .now).components
      guard rest.seconds >= 0, rest.attoseconds > 0 || rest.seconds > 0 else { throw .timedOut }
      time.tv_sec = Int(rest.seconds)
      // Rounds up, so that the timeout is not 0.
      time.tv_usec = Int(rest.attoseconds / 1_000_000_000_000) + 1
    }
    unsafe setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
  }
}

extension Line {
  /// The line as it is sent.
  fileprivate var withNewline: WipedBytes {
    var bytes = WipedBytes(capacity: content.count + 1)
    content.withBytes { bytes.append($0) }
    bytes.append(UInt8(ascii: "\n"))
    return bytes
  }
}

/// Finds a kistd that listens at another socket, or starts one; returns the path of its socket.
package typealias FindDaemon = @Sendable () throws(StorageError) -> String

/// Returns a connected socket.
///
/// If no process listens at the path, or the path is in the runtime directory of another user,
/// connects to the path that `find` returns.
func connectedSocket(
  to path: String, by deadline: ContinuousClock.Instant, orFind find: FindDaemon?, lineLimit: Int
) throws(SocketError) -> Socket {
  do throws(SocketError) {
    return try Socket(connectingTo: path, by: deadline, lineLimit: lineLimit)
  } catch {
    guard let find,
      error.meansNothingListens || StorageError.foreignRuntimeDirectory(of: path) != nil
    else { throw error }
    let found: String
    do throws(StorageError) { found = try find() } catch { throw .refused(error) }
    return try Socket(connectingTo: found, by: deadline, lineLimit: lineLimit)
  }
}

/// The maximum number of bytes to receive in one call.
private let chunk = 16 << 10

/// Returns whether a process of this user listens at a path.
package func isListening(at path: String) -> Bool {
  (try? Socket(connectingTo: path, by: .now + .seconds(1))) != nil
}
