import Glibc

/// One end of a Unix stream socket, used with blocking calls.
///
/// Its owner closes it.
struct BusSocket: Hashable, Sendable {
  let descriptor: CInt

  static func listening(at path: String) throws -> BusSocket {
    let socket = try BusSocket()
    guard try unsafe socket.with(path, { unsafe bind(socket.descriptor, $0, $1) }) == 0,
      listen(socket.descriptor, 16) == 0
    else { throw CannotStart(program: path, code: errno) }
    return socket
  }

  static func connected(to path: String) throws -> BusSocket {
    let socket = try BusSocket()
    guard try unsafe socket.with(path, { unsafe connect(socket.descriptor, $0, $1) }) == 0 else {
      let code = errno
      socket.close()
      throw CannotStart(program: path, code: code)
    }
    return socket
  }

  private init(_ descriptor: CInt) { self.descriptor = descriptor }

  private init() throws {
    descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw CannotStart(program: "socket", code: errno) }
  }

  /// Returns the next client; `nil` once the socket is shut down.
  func accepted() -> BusSocket? {
    let client = accept(descriptor, nil, nil)
    guard client >= 0 else { return nil }
    _ = fcntl(client, F_SETFD, FD_CLOEXEC)
    return BusSocket(client)
  }

  /// Ends all calls that wait for this socket, in any thread.
  func shut() { shutdown(descriptor, CInt(SHUT_RDWR)) }

  func close() { _ = Glibc.close(descriptor) }

  /// Reads a number of bytes; `nil` at the end.
  func read(_ count: Int) -> [UInt8]? {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = unsafe recv(descriptor, buffer.baseAddress! + filled, count - filled, 0)
        guard got > 0 else { return }
        filled += got
      }
    }
    return bytes.count == count ? bytes : nil
  }

  /// Reads a line of the authentication, with its end; `nil` at the end, or if it is too long.
  func readLine() -> [UInt8]? {
    var line: [UInt8] = []
    while !line.suffix(2).elementsEqual("\r\n".utf8) {
      guard line.count < 16384, let byte = read(1) else { return nil }
      line += byte
    }
    return line
  }

  /// Reads a whole message; `nil` at the end, or if it is invalid.
  func readMessage() -> BusMessage? {
    guard let start = read(BusMessage.startCount),
      let count = BusMessage.count(startingWith: start),
      let rest = read(count - start.count)
    else { return nil }
    return BusMessage(start + rest)
  }

  /// Writes all bytes; returns false if the other end is closed.
  func write(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes[sent...].withUnsafeBytes { rest in
        unsafe send(descriptor, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Waits until one of two sockets has something to read, or has ended.
  static func firstReadable(_ first: BusSocket, _ second: BusSocket) -> BusSocket {
    readable(first, second, within: -1)!
  }

  /// Returns whether one of two sockets has something to read now, or has ended.
  static func isReadable(_ first: BusSocket, _ second: BusSocket) -> Bool {
    readable(first, second, within: 0) != nil
  }

  private static func readable(
    _ first: BusSocket, _ second: BusSocket, within milliseconds: CInt
  ) -> BusSocket? {
    var both = [first, second].map {
      pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
    }
    while true {
      let count = unsafe Glibc.poll(&both, 2, milliseconds)
      if count == 0 { return nil }
      if count > 0 { return both[0].revents != 0 ? first : second }
    }
  }

  private func with<Result>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) throws -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw CannotStart(program: path, code: ENAMETOOLONG)
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    return unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
