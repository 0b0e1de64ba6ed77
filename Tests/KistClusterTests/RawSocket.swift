import Foundation
import KistServer
import KistSystem
import Testing

/// A connected socket that sends and receives bytes unchanged.
///
/// The calls that wait must not run on the tests' pool, which has few threads and also runs adapters.
final class RawSocket: Sendable {
  private let descriptor: CInt

  fileprivate init(_ descriptor: CInt) { self.descriptor = descriptor }

  init(connectingTo path: String) throws {
    descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let status = unsafe withAddress(Array(path.utf8)) { unsafe connect(descriptor, $0, $1) }
    try #require(status == 0)
  }

  deinit { close(descriptor) }

  /// Sends the bytes until the other end closes the connection.
  fileprivate func send(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBufferPointer {
        unsafe Foundation.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Sends a line in a thread of its own, and receives the next one.
  func reply(to line: String) async -> String {
    await withCheckedContinuation { continuation in
      startThread {
        self.send(line + "\n")
        continuation.resume(returning: self.line())
      }
    }
  }

  /// Receives a line in a thread of its own.
  func nextLine() async -> String {
    await withCheckedContinuation { continuation in
      startThread { continuation.resume(returning: self.line()) }
    }
  }

  fileprivate func endSending() { shutdown(descriptor, CInt(SHUT_WR)) }

  /// Receives a line without its newline; what was received if the connection ends before.
  fileprivate func line() -> String {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while unsafe recv(descriptor, &byte, 1, 0) == 1, byte != UInt8(ascii: "\n") {
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }
}

/// An adapter that sends a text in reply to the first line of each connection.
final class ScriptedAdapter: Sendable {
  private let directory: String
  private let listener: CInt

  var path: String { directory + "/cluster.sock" }

  /// - Parameter reply: Returns the text for a connection, by its number from 0, after which the
  ///   connection ends; `nil` to end no connection and send nothing.
  init(_ reply: @escaping @Sendable (Int) -> String?) throws {
    directory = try #require(makeTemporaryDirectory("/tmp/kist-cluster-"))
    listener = try listen(at: directory + "/cluster.sock")
    // `accept` must wait.
    _ = fcntl(listener, F_SETFL, 0)
    startThread { [listener] in
      var silent: [RawSocket] = []
      var number = 0
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { break }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let connection = RawSocket(descriptor)
        if let text = reply(number) {
          _ = connection.line()
          connection.send(text)
          // A socket that is closed with unread bytes drops what it has sent.
          connection.endSending()
        } else {
          silent.append(connection)
        }
        number += 1
      }
      close(listener)
    }
  }

  deinit {
    shutdown(listener, CInt(SHUT_RDWR))
    try? FileManager.default.removeItem(atPath: directory)
  }
}
