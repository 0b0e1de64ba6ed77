internal import Glibc

/// The address of the socket that a service manager listens on: a path, or with `@` before it a name
/// in the abstract namespace (sd_notify(3), unix(7)).
struct NotifySocketAddress: Sendable {
  private let bytes: [UInt8]

  /// `nil` where it is neither, or too long.
  init?(_ text: String) {
    var bytes = Array(text.utf8)
    guard bytes.first == UInt8(ascii: "/") || bytes.first == UInt8(ascii: "@") else { return nil }
    guard bytes.count > 1, bytes.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else {
      return nil
    }
    if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
    self.bytes = bytes
  }

  /// Sends a datagram; one that may be lost is, where the manager has no room for it now.
  func send(_ text: String, mayBeLost: Bool) {
    let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let text = Array(text.utf8)
    _ = unsafe withAddress(bytes) { address, size in
      unsafe sendto(
        descriptor, text, text.count, CInt(MSG_NOSIGNAL) | (mayBeLost ? CInt(MSG_DONTWAIT) : 0),
        address, size)
    }
  }
}
