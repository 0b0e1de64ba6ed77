import Foundation
import Testing

/// A client that sends and receives bytes as they are.
final class RawClient: Sendable {
  private let descriptor: Int32

  /// - Parameter name: the abstract name that its own socket is bound to.
  init(connectingTo path: String, from name: String? = nil) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.descriptor = descriptor
    // Only so that a test that went wrong ends; a full backlog keeps connect(2) waiting.
    var limit = timeval(tv_sec: 300, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      unsafe setsockopt(
        descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    let isBound = name.map { name in
      unsafe withAddress([0] + Array(name.utf8)) { unsafe bind(descriptor, $0, $1) } == 0
    }
    guard
      isBound != false,
      unsafe withAddress(Array(path.utf8) + [0], { unsafe connect(descriptor, $0, $1) }) == 0
    else { throw POSIXError(POSIXErrorCode(rawValue: errno)!) }
  }

  deinit { Foundation.close(descriptor) }

  /// Sends all of it, as far as the other end takes it.
  func send(_ text: String) async {
    await offThePool {
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        let sent = unsafe rest.withUnsafeBytes {
          unsafe Foundation.send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard sent > 0 else { return }
        rest = rest.dropFirst(sent)
      }
    }
  }

  func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Receives up to a newline, or to the end.
  func line() async -> String { await receive { $0.last == UInt8(ascii: "\n") } }

  /// Receives so many bytes.
  func bytes(_ count: Int) async -> String { await receive { $0.count == count } }

  /// Receives up to the end.
  func rest() async -> String { await receive { _ in false } }

  private func receive(until isComplete: @escaping @Sendable ([UInt8]) -> Bool) async -> String {
    await offThePool {
      var bytes: [UInt8] = []
      var byte: UInt8 = 0
      while unsafe recv(self.descriptor, &byte, 1, 0) == 1 {
        bytes.append(byte)
        if isComplete(bytes) { break }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}

private func withAddress(
  _ path: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
  let size = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
  return unsafe withUnsafePointer(to: &address) {
    unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, size) }
  }
}

/// Blocks a thread of its own, where the tests' pool has few.
func offThePool<Result: Sendable>(
  _ body: @escaping @Sendable () -> Result
) async -> Result {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}
