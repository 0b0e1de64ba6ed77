internal import Glibc

/// A file of /proc, up to a page of it, which is as long as the kernel makes these; `nil` where it cannot
/// be read.
package func text(ofProcFile path: String) -> String? {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { bytes in
    let count = unsafe read(descriptor, bytes.baseAddress, bytes.count)
    guard count > 0 else { return nil }
    return unsafe String(decoding: UnsafeBufferPointer(rebasing: bytes[..<count]), as: UTF8.self)
  }
}
