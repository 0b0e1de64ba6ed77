internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

/// A connected Unix socket that blocks, within deadlines; closed when it is released: unix(7).
final class Socket {
  private let descriptor: CInt
  private var received = WipedBytes(capacity: chunk)

  /// Whether nothing was received yet.
  private(set) var isNew = true

  /// Bytes of the latest line to send that the system took; with none, nobody saw any of it.
  private(set) var bytesSent = 0

  init(connectingTo path: String, by deadline: ContinuousClock.Instant) throws(SocketError) {
    descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .notConnected(errno) }
    // Where the backlog is full, connect(2) waits for as long as a send may.
    try setTimeout(SO_SNDTIMEO, until: deadline)
    let status = try unsafe withAddress(of: path) { address, size in
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

  /// Asks the kernel whose process listens (unix(7), SO_PEERCRED): in a directory that others can
  /// write, it may be anybody's, and would be told the secret.
  private func checkListener() throws(SocketError) {
    // struct ucred, which Glibc shows to GNU programs only: pid, uid, gid, of 32 bits each.
    var credentials: (pid: UInt32, uid: UInt32, gid: UInt32) = (0, 0, 0)
    var size = socklen_t(MemoryLayout.size(ofValue: credentials))
    guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else {
      throw .notConnected(errno)
    }
    guard credentials.uid == geteuid(), isOwnUserKnown() else { throw .notOurs }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Whether the peer is there, and has said nothing since its last reply.
  var isQuiet: Bool {
    var byte: UInt8 = 0
    let flags = CInt(MSG_PEEK | MSG_DONTWAIT)
    return unsafe recv(descriptor, &byte, 1, flags) < 0 && errno == EAGAIN
  }

  func send(_ line: Line, by deadline: ContinuousClock.Instant) throws(SocketError) {
    bytesSent = 0
    var bytes = WipedBytes(capacity: line.content.count + 1)
    line.content.withBytes { bytes.append($0) }
    bytes.append(UInt8(ascii: "\n"))
    while bytesSent < bytes.count {
      try setTimeout(SO_SNDTIMEO, until: deadline)
      let count = bytes.withBytes { bytes in
        unsafe bytes.extracting(bytesSent...).withUnsafeBufferPointer { rest in
          unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL))
        }
      }
      bytesSent += try transferred(count)
    }
  }

  /// Waits for one line; it is the last one when something follows it that nobody asked for.
  func receive(by deadline: ContinuousClock.Instant) throws(SocketError)
    -> (line: Line, isLast: Bool)
  {
    try receive { () throws(SocketError) in try setTimeout(SO_RCVTIMEO, until: deadline) }
  }

  /// The line that the peer said of its own accord, if there is one.
  func unsolicitedLine() -> Line? {
    try? receive(flags: CInt(MSG_DONTWAIT)) { () throws(SocketError) in }.line
  }

  private func receive(
    flags: CInt = 0, beforeEachWait prepare: () throws(SocketError) -> Void
  ) throws(SocketError) -> (line: Line, isLast: Bool) {
    var splitter = LineSplitter()
    var first: LineSplitter.Event?
    var isLast = false
    while first == nil {
      try prepare()
      try receivePiece(flags: flags) { bytes in
        splitter.append(bytes) { event in
          isLast = first != nil
          first = first ?? event
        }
        if let byte = bytes.indices.last, bytes[byte] != UInt8(ascii: "\n") { isLast = true }
      }
    }
    isNew = false
    guard case .line(let line) = first else { throw .tooLong }
    return (line, isLast)
  }

  /// Waits for the next bytes, without a deadline for as long as it takes, and lends them; none when a
  /// signal comes first.
  func receivePiece(
    by deadline: ContinuousClock.Instant?, _ body: (Span<UInt8>) -> Void
  ) throws(SocketError) {
    if let deadline {
      try setTimeout(SO_RCVTIMEO, until: deadline)
    } else {
      setTimeout(SO_RCVTIMEO, to: timeval())
    }
    try receivePiece(flags: 0, body)
  }

  private func receivePiece(
    flags: CInt, _ body: (Span<UInt8>) -> Void
  ) throws(SocketError) {
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
    // Now, and not before the next one, which may be far away: this was a secret, perhaps.
    received.removeAll()
  }

  /// What ends the connection from another thread.
  func makeHangUp() throws(SocketError) -> HangUp {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw .notConnected(errno) }
    return HangUp(copy)
  }

  /// Bytes that a call sent or received; none when a signal interrupted it.
  private func transferred(_ count: Int) throws(SocketError) -> Int {
    if count >= 0 { return count }
    switch errno {
    case EINTR: return 0
    case EAGAIN: throw .timedOut
    default: throw .ended
    }
  }

  private func setTimeout(_ option: CInt, until deadline: ContinuousClock.Instant)
    throws(SocketError)
  {
    let rest = (deadline - .now).components
    guard rest.seconds >= 0, rest.attoseconds > 0 || rest.seconds > 0 else { throw .timedOut }
    // Rounded up, since nothing at all would mean for ever.
    setTimeout(
      option,
      to: timeval(
        tv_sec: Int(rest.seconds), tv_usec: Int(rest.attoseconds / 1_000_000_000_000) + 1))
  }

  private func setTimeout(_ option: CInt, to time: timeval) {
    var time = time
    unsafe setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
  }
}

/// Ends a connection, on whichever thread: who waits for it finds the end.
final class HangUp: Sendable {
  private let descriptor: CInt

  /// Takes over a descriptor of the socket.
  fileprivate init(_ descriptor: CInt) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  func callAsFunction() { shutdown(descriptor, CInt(SHUT_RDWR)) }
}

/// Bytes that are received in one go.
private let chunk = 16 << 10
