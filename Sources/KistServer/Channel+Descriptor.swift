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

extension StorageError {
  /// Sends the refusal on a fresh socket, whose buffer has room for it; a client that has gone
  /// already does without.
  func send(to descriptor: CInt) {
    var bytes = WipedBytes()
    Line.refusal(self).content.withBytes { bytes.append($0) }
    bytes.append(UInt8(ascii: "\n"))
    bytes.withBytes { bytes in
      unsafe bytes.withUnsafeBytes {
        _ = unsafe Glibc.send(
          descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
    }
  }
}
