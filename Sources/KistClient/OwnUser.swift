internal import Glibc
internal import KistWire

// KistServer has the same: no room that both import may read files.
/// Whether this process can be told from those of other users: whether its uid stands for them, too.
func isOwnUserKnown() -> Bool {
  !standsForStrangers(
    uid: geteuid(), overflowUID: text(of: "/proc/sys/kernel/overflowuid"),
    map: text(of: "/proc/self/uid_map"))
}

/// A file of /proc of at most a page, as far as it can be read.
private func text(of path: String) -> String? {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { bytes in
    let count = unsafe read(descriptor, bytes.baseAddress, bytes.count)
    guard count > 0 else { return nil }
    return unsafe String(decoding: UnsafeBufferPointer(rebasing: bytes[..<count]), as: UTF8.self)
  }
}
