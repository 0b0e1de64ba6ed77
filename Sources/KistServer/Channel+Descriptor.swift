internal import Glibc
internal import KistCore
internal import KistWire
internal import NIOCore

extension Channel {
  /// Lends the socket; throws when it is closed.
  ///
  /// On the channel's event loop only.
  func withDescriptor<Result>(_ body: (CInt) throws -> Result) throws -> Result {
    guard
      let result = try pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self, body)
    else { throw ChannelError.operationUnsupported }
    return result
  }
}

extension Channel {
  /// Who is connected to an accepted channel, whose socket no program that is started gets.
  func peer() throws -> Peer {
    try withDescriptor { descriptor in
      // NIO accepts without SOCK_CLOEXEC.
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      return try Peer(connectedTo: descriptor)
    }
  }
}

extension Channel {
  /// Tells a client why it is not served, as far as its socket has room.
  func tell(_ refusal: StorageError) {
    var bytes = WipedBytes(capacity: 512)
    bytes.append(Line.refusal(refusal))
    _ = try? withDescriptor { bytes.send(to: $0) }
  }
}

/// Whether a socket has bytes that were not read.
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

  /// Sends the bytes, as far as the socket has room for them now, and tells how many that was: none to
  /// a client that has gone.
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
