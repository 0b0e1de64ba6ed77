internal import Glibc

/// What the system says of an error number: strerror_r(3).
package func systemText(of code: CInt) -> String {
  unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
    unsafe strerror_r(code, text.baseAddress!, text.count)
    return unsafe String(cString: text.baseAddress!)
  }
}
