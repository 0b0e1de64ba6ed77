internal import Glibc
internal import KistSystem

/// The address of a service manager's notification socket (sd_notify(3), unix(7)).
///
/// It is a path, or `@` and a name in the abstract namespace.
struct NotifySocketAddress: Sendable {
  private let bytes: [UInt8]

  /// Parses an address; `nil` if it is neither form, or too long.
  init?(_ text: String) {
    var bytes = Array(text.utf8)
    guard bytes.first == UInt8(ascii: "/") || bytes.first == UInt8(ascii: "@") else { return nil }
    guard bytes.count > 1, bytes.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else {
      return nil
    }
    if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
    self.bytes = bytes
  }

  /// Sends a datagram; drops it if it may be lost and the manager has no space for it now.
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
