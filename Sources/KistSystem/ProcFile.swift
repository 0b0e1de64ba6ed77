internal import Glibc

/// Returns the text of a file in /proc, up to one page; `nil` where it cannot be read.
///
/// The kernel limits these files to one page.
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
