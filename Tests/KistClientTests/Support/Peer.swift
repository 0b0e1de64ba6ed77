import Glibc
import Synchronization
import Testing

/// The other end of a socket: it passes each connection, one after another, to a function of the test.
final class Peer: Sendable {
  /// One accepted connection.
  struct Connection {
    /// How many there were before it.
    let number: Int
    fileprivate let descriptor: CInt

    /// The next line without its newline; `nil` at the end.
    func readLine() -> String? {
      var line: [UInt8] = []
      var byte: UInt8 = 0
      while unsafe recv(descriptor, &byte, 1, 0) == 1 {
        if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
        line.append(byte)
      }
      return nil
    }

    func write(_ text: String) {
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBufferPointer {
          unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
        }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }

    /// Answers every line with what a function makes of it, to the end.
    func answer(_ reply: (String) -> String = { $0 }) {
      while let line = readLine() { write(reply(line) + "\n") }
    }
  }

  private let listener: CInt
  /// The number of each connection, once it is closed.
  let closed: AsyncStream<Int>

  init(at path: String, _ serve: @escaping @Sendable (Connection) -> Void) throws {
    listener = try listen(at: path)
    let (closed, continuation) = AsyncStream<Int>.makeStream()
    self.closed = closed
    let work = Work { [listener] in
      var number = 0
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { break }
        // Otherwise a program that another test starts keeps the connection open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        serve(Connection(number: number, descriptor: descriptor))
        close(descriptor)
        continuation.yield(number)
        number += 1
      }
      continuation.finish()
      close(listener)
    }
    var thread = pthread_t()
    unsafe pthread_create(
      &thread, nil,
      { work in
        unsafe Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().body()
        return nil
      }, Unmanaged.passRetained(work).toOpaque())
    pthread_detach(thread)
  }

  // Wakes the accept(2) that waits, which then closes the listener.
  deinit { shutdown(listener, CInt(SHUT_RDWR)) }
}

/// A socket that listens at a path.
func listen(at path: String) throws -> CInt {
  let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
  let status = unsafe withUnsafePointer(to: &address) { address in
    unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      unsafe bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
  try #require(status == 0 && Glibc.listen(descriptor, 8) == 0)
  return descriptor
}

private final class Work: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
