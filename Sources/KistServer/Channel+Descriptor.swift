internal import Glibc
internal import KistCore
internal import KistWire
internal import NIOCore

extension Channel {
  /// Passes the socket to the closure, and throws if the socket is closed.
  ///
  /// Call it on the channel's event loop only.
  func withDescriptor<Result>(_ body: (CInt) throws -> Result) throws -> Result {
    guard
      let result = try pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self, body)
    else { throw ChannelError.operationUnsupported }
    return result
  }
}

extension Channel {
  /// Returns the peer of an accepted channel, and keeps its socket from programs that kistd starts.
  func peer() throws -> Peer {
    try withDescriptor { descriptor in
      // NIO accepts without SOCK_CLOEXEC.
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      return try Peer(connectedTo: descriptor)
    }
  }
}

extension Channel {
  /// Sends a client the reason why it is not served, if its socket has space.
  func send(refusal: StorageError) {
    var bytes = WipedBytes(capacity: 512)
    bytes.append(Line.refusal(refusal))
    _ = try? withDescriptor { bytes.send(to: $0) }
  }
}

/// Returns whether a socket has unread bytes.
func hasInput(_ descriptor: CInt) -> Bool {
  var byte: UInt8 = 0
  return unsafe recv(descriptor, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT)) == 1
}

extension WipedBytes {
  /// Appends a line and its newline.
  mutating func append(_ line: Line) {
    line.content.withBytes { append($0) }
    append(UInt8(ascii: "\n"))
  }

  /// Sends as many bytes as the socket takes now, and returns their number.
  ///
  /// The number is 0 if the client has gone.
  func send(to descriptor: CInt) -> Int {
    withBytes { bytes in
      unsafe bytes.withUnsafeBytes { bytes in
        let sent = unsafe Glibc.send(
          descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
        return max(sent, 0)
      }
    }
  }
}

extension ByteBuffer {
  /// Overwrites the readable bytes in place, for every buffer that shares this storage.
  ///
  /// Writing through `ByteBuffer` would copy shared storage and leave the original unchanged. The
  /// pool of receive buffers and the queue of pending writes share it. The bytes must not be in use
  /// any more.
  func wipe() {
    unsafe withUnsafeReadableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
    }
  }
}

/// Runs tasks on an event loop, so that a request is read, performed and answered on one thread.
final class EventLoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
